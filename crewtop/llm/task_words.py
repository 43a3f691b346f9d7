"""Words by which a request gives away how demanding it is, English and Vietnamese, as llm/complexity.py sees them:
lower case, without diacritics, so that "thiết kế" and "thiet ke" are one.

Without its marks a Vietnamese syllable means many things ("dich" is a translation, a service and an epidemic), so most
entries are of two syllables. A pattern may match inside of a sentence: the order need not come first.
"""

from __future__ import annotations

import re


def _any(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words.split(', '))})\b")


HARD = _any(
    "design, redesign, architect, architecture, prove, refute, disprove, derive, show that, debug, diagnose, "
    "root cause, "
    "race condition, a race, deadlocks?, (?<!which )(?<!what )plan the, plan for, plan to, roadmap, strategy, "
    "strategic, "
    "optimi[sz]e, optimum, optimal, refactor, migrate, migration, evaluate, assess, analyse, analyze, analysis, "
    "critique, critically, investigate, reconcile, forecast, predict, project the, model of, simulate, threat model, "
    "negotiate, recommend, recommendation, decide, decision, justify, argue, argument, trade ?offs?, hypothes[ie]s, "
    "synthesi[sz]e, estimate how, work out, work through, walk through, reason through, quantify, sensitivity, "
    "invariants?, algorithm, complexity, concurrent, concurrency, worst case, causal, causes?, experiment, "
    "bias(?:es)?, "
    "devise, construct, develop a, formulate, risks?, should we, should i, how should, how would you, how could, "
    "how far, post mortem, failure cases, fails over, failover, assumptions, is it safe, implement, "
    "show the calculation, "
    "flaw, loophole, where is the hole, can be lost, what is wrong, what would fix, what would happen, "
    "vulnerabilit(?:y|ies), "
    "contradicts?, contradictions?, inconsistent, inconsistenc(?:y|ies), liable, liability, in court, legally, "
    "under what conditions, counterexample, bound on, tight, theorem, converges?, guarantee, guarantees, "
    "scal(?:e|ing) to, "
    "over (?:a|two|three|five) years?, constraints?, weigh, pros and cons of each, ethical, defend, challenge, "
    "scenarios?, "
    # Vietnamese
    "thiet ke, tai cau truc, kien truc, chung minh, phan tich, danh gia, toi uu, lap ke hoach, ke hoach, chien luoc, "
    "nguyen nhan, go loi, tim loi, lo hong, phan bien, du bao, du doan, mo hinh, gia thuyet, khuyen nghi, lap luan, "
    "can nhac, lo trinh, dam phan, thuong luong, rui ro, ra soat, uoc luong, dinh luong, thuat toan, rang buoc, "
    "bat bien, "
    "phuong an, gia dinh, danh doi, nen giu, nen chon, co nen, quyet dinh kem, nhan qua, tranh chap, kiem chung, "
    "thi nghiem, mau thuan, ra toa, phap ly, triet de, trung lap, xay dung he thong, xay dung chien luoc, "
    "kich ban xau, "
    "dieu kien nao, vi sao luon, truong hop xau, ben vung, suy ra, giai quyet triet de, dinh gia"
)
MODERATE = _any(
    "summari[sz]e, summary, write, rewrite, draft, explain, compare, comparison, describe, description, outline, "
    "paraphrase, suggest, propose, combine, collect, group, script, function, query, regular expression, "
    "tests?, runbook, "
    "report, briefing, minutes, faq, announcement, e ?mail, mail, letter, reply, replies, answer about, "
    "apology, how to, "
    "how do, user stories, criteria, persona, differences?, advantages, pros and cons, table of, paragraph, trends?, "
    "abstract, convert this, type hints, turn, checklist, key points, create, make a, polish, improve, edit, "
    "proofread, "
    "brainstorm, ideas, essay, article, blog, post, story, speech, presentation, slides, guide, tutorial, "
    "instructions, "
    "survey, questionnaire, interview, agenda, proposal, review, feedback, note for, steps to, examples? of, prepare, "
    "walk me through, tell her how, tell him how, "
    # Vietnamese
    "tom tat, viet, soan, bien tap, giai thich, so sanh, mo ta, lap bang, lap dan y, dan y, de xuat, goi y, tong hop, "
    "nhom, huong dan, cac buoc, bao cao, thu tra loi, tra loi khach, email, thong bao, gioi thieu, kich ban, "
    "uu nhuoc diem, "
    "loi ich, nhan xet, cau lenh, neu, trinh bay, chan dung, tieu chi, khao sat, cau hoi khao sat, lam bang, "
    "bai viet, "
    "bai dang, bai bao, noi dung, chinh sua, cai thien, y tuong, lich trinh, bien ban, dien giai"
)
EASY = _any(
    "classify, classification, categori[sz]e, translate, extract, list, label, tags?, format, sort, convert, count, "
    "how many, how much, which of, which month, which plan, which language, which one, yes or no, yes no, "
    "true or false, "
    "only the, only, spelling, spell, capital of, capitali[sz]e, lower case, upper case, all caps, sentiment, "
    "tone of, "
    "one word, one line, one liner, one sentence, a number, score, priority, rename, shorten, slug, pull, fix the, "
    "remove the, remove all, copy, find the, find who, who is, when is, where is, at what time, quote, return the, "
    "give the, is this, is the, is it, does the, does this, has the, what is the, name the, tell me which, "
    "tell me the, "
    "detect, identify the, look up, in order, as a flat list, reply with, match, pick, choose one, normali[sz]e, "
    # Vietnamese
    "phan loai, dich sang, dich cau, dich cac, trich, liet ke, sap xep, doi, dem, bao nhieu, co hay khong, "
    "co hoac khong, co phai, chinh ta, thu do, lay, tach, rut gon, chi ghi, chi can, mot cau, tra loi bang, cho biet, "
    "may ngay, may gio, bao lau, la gi, la ai, o dau, o tinh nao, nao sau day, thuoc loai, thuoc chu de, tieng gi, "
    "viet day du, viet hoa, chu thuong, chu hoa, ghi so, hay la, hoi gia, mot dong, tin nhan ngan, gan nhan, tra cuu, "
    "chon mot, loai bo, chuan hoa, ngay nao, thang nao, khi nao"
)
REASONS = _any("why, how could, how can, how would, how should, what if, what else, vi sao, tai sao, lam sao, the nao")
"""Questions that ask for reasons rather than for facts."""
VIETNAMESE = _any(
    "cua, khong, nhung, cac, cho, duoc, trong, voi, nay, mot, la, khach, viet, toi, minh, sau, "
    "giai, va, thich, lai, doi"
)
"""Syllables that tell Vietnamese typed without marks; some occur in other languages, so three of them are wanted."""

LENGTHS: tuple[tuple[re.Pattern[str], float], ...] = (
    (re.compile(r"\b(\d{2,4}) (?:words|tu|chu)\b"), 1.4),
    (re.compile(r"\b(?:in|most|about|of|khoang|toi da) (\d{1,2}) (?:pages?|trang)\b"), 700),
    (re.compile(r"\b(?:yes or no|true or false|one word|only the \w+|a number only|one number|only a number)\b"), 10),
    (re.compile(r"\b(?:co hoac khong|co hay khong|chi ghi|ghi so|mot tu)\b"), 10),
    (re.compile(r"\b(?:one sentence|one line|one liner|single sentence|mot cau|mot dong)\b"), 50),
    (re.compile(r"\b(?:one|a|mot) (?:page|trang)\b"), 700),
    (re.compile(r"\b(?:a|one|mot) (?:paragraph|doan van)\b"), 150),
)
"""What a request says of its answer's length, as tokens, or tokens for each of the number found."""
