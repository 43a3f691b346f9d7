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
    "design, redesign, architect, architecture, prove, refute, derive, debug, diagnose, root cause, "
    "race, deadlocks?, "
    "plan the, roadmap, strategy, optimi[sz]e, refactor, migrate, evaluate, assess, analyse, analyze, critique, "
    "critically, critical, investigate, reconcile, forecast, model of, simulate, threat model, negotiate, recommend, "
    "recommendation, decide, justify, argue, argument, trade ?offs?, hypotheses, synthesi[sz]e, "
    "estimate how, work out, "
    "work through, quantify, sensitivity, invariants?, algorithm, concurrent, worst case, causal, experiment, bias, "
    "devise, construct, develop a, formulate, risks?, should we, post mortem, failure cases, "
    "assumptions, is it safe, "
    "implement, show the calculation, flaw, what is wrong, "
    # Vietnamese
    "thiet ke, kien truc, chung minh, phan tich, danh gia, toi uu, lap ke hoach, ke hoach, "
    "chien luoc, nguyen nhan goc, "
    "nguyen nhan, go loi, tim loi, phan bien, du bao, mo hinh hoa, mo hinh, gia thuyet, khuyen nghi, lap luan, "
    "can nhac, lo trinh, dam phan, thuong luong, rui ro, ra soat, uoc luong, dinh luong, thuat toan, bat bien, "
    "phuong an, gia dinh, danh doi, de ra, co nen, quyet dinh kem, nhan qua, tranh chap, kiem chung, thi nghiem"
)
MODERATE = _any(
    "summari[sz]e, summary, write, rewrite, draft, explain, compare, describe, outline, paraphrase, "
    "suggest, propose, "
    "combine, collect, group, script, query, regular expression, tests?, runbook, report, briefing, minutes, faq, "
    "announcement, e ?mail, mail, reply, replies, apology, how to, how do, user stories, criteria, "
    "persona, difference, "
    "differences, advantages, table of, paragraph, trends?, abstract, convert this, type hints, turn, "
    # Vietnamese
    "tom tat, viet, viet lai, soan, giai thich, so sanh, mo ta, lap bang, lap dan y, dan y, de xuat, tong hop, nhom, "
    "huong dan, bao cao, thu tra loi, email, thong bao, gioi thieu, kich ban, uu nhuoc diem, loi ich, nhan xet, "
    "cau lenh, neu, chan dung, tieu chi"
)
EASY = _any(
    "classify, classification, translate, extract, list, label, tag, format, sort, convert, count, "
    "how many, which of, "
    "which month, yes or no, true or false, only the, only, spelling, capital of, capitali[sz]e, sentiment, tone, "
    "one word, one line, one liner, one sentence, a number, score, priority, rename, shorten, slug, pull, fix the, "
    "remove the, copy, find who, who is, at what time, quote, return the, give the, is this, what is the, quote the, "
    "name the, in order, as a flat list, "
    # Vietnamese
    "phan loai, dich sang, dich cau, dich cac, trich, liet ke, sap xep, doi, dem, bao nhieu, "
    "co hay khong, co hoac khong, "
    "chinh ta, thu do, lay, tach, rut gon, chi ghi, chi can, mot cau, tra loi bang, cho biet, may ngay, bao lau, "
    "la gi, thuoc loai, thuoc chu de, tieng gi, viet day du, ghi so, hay la, hoi gia, mot dong, tin nhan ngan"
)
REASONS = _any("why, how could, how can, how would, what if, what else, vi sao, tai sao, the nao, lam sao")
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
