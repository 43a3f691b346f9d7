"""Words by which a request gives away how demanding it is, English and Vietnamese, as llm/complexity.py looks for them:
lower case, without diacritics, so that "thiết kế" and "thiet ke" are one; English ones in any of their forms.

Without its marks a Vietnamese syllable means many things ("dich" is a translation, a service and an epidemic), so most
entries are of two syllables. A list is read at import, phrases parted by commas; the longest that fits wins.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

HARD = """
    design, redesign, architect, architecture, invent, devise, construct, build a, build an, formulate, synthesise,
    synthesize, develop a, refactor, rework, migrate, migration, implement, parser, compiler, lock free, thread
    safe, concurrent, concurrency, race condition, a race, deadlock, protocol, interleaving, edge case, failover,
    fail over, fault tolerant, can be lost, scale to, scalability, optimise, optimize, optimum, optimal, minimise,
    minimize, maximise, maximize, algorithm, complexity, worst case, invariant, thread, scheduler, prove, proof,
    disprove, refute, derive, derivation, theorem, lemma, converge, counterexample, bound on, lower bound, upper
    bound, tight, show that, show who, show which, show where, rigorous, guarantee, impossible, exactly once, debug,
    diagnose, diagnosis, root cause, cause, why does, why did, why is, why are, what went wrong, what is wrong, is
    wrong, might be wrong, what is going on, what explains, could explain, can explain, get to the bottom, narrow
    down, rule out, isolate, tell apart, distinguish, separate the, find the flaw, flaw, loophole, hole, leak,
    weakness, vulnerability, attack, attacker, exploit, threat model, post mortem, failure case, failure mode, trace
    where, analyse, analyze, analysis, evaluate, assess, assessment, appraise, critique, critically, critical,
    investigate, examine, study the, reconcile, audit, contradict, contradiction, contradictory, inconsistent,
    inconsistency, conflict, disagree, dispute, evidence, hypothesis, hypotheses, infer, causal, causality,
    confound, bias, correlation, counterfactual, experiment, significance, statistical, randomise, randomize, sample
    size, controls, cohort, forecast, predict, prediction, project the, model of, model how, mathematical, simulate,
    simulation, estimate how, estimate the, quantify, quantitative, probability, likelihood, certainty, uncertainty,
    sensitivity, elasticity, expected value, equilibrium, bayesian, work out, work through, work backwards, reason
    through, think through, think of what, value this, valuation, what must, would have to, how much would, how many
    would, how large, plan the, plan for, plan to, plan a move, roadmap, strategy, strategic, negotiate,
    negotiation, bargain, concession, scheme, allocate, trade off, tradeoff, dependencies, priorities, second order,
    sequence, without downtime, rollback, recommend, recommendation, decide, decision, verdict, advise whether,
    whether to, should we, should i, should they, should the, is it worth, worth it, which would you, would you
    build, weigh, justify, argue, argument, defend, challenge, sceptical, pros and cons of each, ethical, position
    paper, opinion, persuade the board, how should, how would you, how could, how far, how likely, under what
    condition, under which, what would change, what would fix, what would happen, assumption, risk, is it safe,
    scenario, constraint, over two year, over three year, over five year, at the same time, even if, even when, such
    that, without anybody, without losing, rival, adversary, liable, liability, in court, court, legally, lawful,
    legal risk, breach, binding, bind us, which version, on what theory, thiet ke, tai cau truc, kien truc, xay dung
    he thong, xay dung chien luoc, xay dung co che, dung mo hinh, mo hinh, thuat toan, toi uu, ben vung, chiu loi,
    song song, dong thoi, trung lap, bat bien, truong hop bien, quay lui, chung minh, suy ra, bac bo, phan chung,
    uoc luong khong chech, dieu kien can, can duoi, can tren, chi ra rang, phan tich, danh gia, nguyen nhan, can
    nguyen, vi sao luon, go loi, tim loi, lo hong, ke ho, that thoat, khoanh vung, loai tru, phan dinh, phan biet
    cac, phan bien, phan bac, mau thuan, truong hop xau, kich ban xau, trieu chung, ra soat, tham dinh, truy xem,
    truy tim, lan theo, khao sat logic, dieu tra, bang chung, doi lap, trai nguoc, gia thuyet, gia dinh, nhan qua,
    gay nhieu, kiem chung, thi nghiem, xac suat, do nhay, do tin cay, sai so, sai lech, du bao, du doan, dinh luong,
    uoc luong, uoc tinh, mo phong, dinh gia, bai toan, co mau, y nghia thong ke, lap ke hoach, ke hoach, chien luoc,
    lo trinh, dam phan, thuong luong, nhuong bo, phuong an, danh doi, rang buoc, khuyen nghi, lap luan, ly le, can
    nhac, nen giu, nen chon, co nen, nen hay khong, quyet dinh, tranh chap, rui ro, ra toa, toa an, phap ly, hieu
    luc, trach nhiem, triet de, giai quyet triet de, dieu kien nao, ai thiet, ai loi, xay dung, dieu gi lam duoc,
    bao ve con so, ke ca khi, tranh luan, hau qua, tac dong
"""
MODERATE = """
    summarise, summarize, summary, sum up, recap, digest, condense, compile, write, write up, rewrite, draft,
    compose, explain, compare, comparison, describe, description, outline, overview, paraphrase, suggest, propose,
    combine, collect, group, script, function, query, regular expression, test, runbook, report, briefing, minutes,
    faq, announce, announcement, invitation, introduce, present, respond, email, e mail, mail, letter, reply,
    replies, answer about, apology, how to, how do, user story, user stories, criteria, persona, difference,
    advantage, pros and cons, table of, paragraph, trend, abstract, convert this, type hint, turn, checklist, key
    point, create, make a, polish, improve, edit, proofread, brainstorm, idea, essay, article, blog, post, story,
    speech, presentation, slide, guide, tutorial, instruction, survey, questionnaire, interview, agenda, proposal,
    review, feedback, note for, steps to, step by step, example of, prepare, walk me through, walk a, tell her how,
    tell him how, tell the story, in plain term, put together, lay out, come up with, show me how, calendar, run
    sheet, lively, friendly, polite, warm, empathy, variant, teach, tom tat, tom luoc, co dong, viet, soan, bien
    tap, giai thich, so sanh, mo ta, ta sau, lap bang, lap dan y, dan y, de xuat, goi y, tong hop, tong quan, nhom,
    huong dan, cac buoc, bao cao, thu tra loi, tra loi khach, dap lai, email, thong bao, gioi thieu, kich ban, uu
    nhuoc diem, loi ich, nhan xet, cau lenh, neu, trinh bay, chan dung, tieu chi, khao sat, lam bang, bai viet, bai
    dang, bai bao, noi dung, chinh sua, cai thien, y tuong, lich trinh, len lich, bien ban, dien giai, dien dat,
    thuat lai, ke lai, noi cho, doi giong, lam tin, quy trinh, than thien, lich su
"""
EASY = """
    classify, classification, categorise, categorize, translate, say in, extract, list the, list all, list every,
    label, tag, format, sort, sorted, convert, count, add, total, sum of, how many, how much, which of, which month,
    which plan, which language, which one, which weekday, which port, yes or no, yes no, true or false, only,
    spelling, spell, capital of, capitalise, capitalize, case, all cap, sentiment, tone of, one liner, a number,
    score, priority, rename, shorten, slug, pull, fix the, remove the, remove all, strip, copy, find the, find who,
    who is, when is, when does, where is, at what time, quote, return the, give the, give back, is this, is the, is
    it, was the, does the, does this, does any, does she, does he, has the, what is the, name the, tell me which,
    tell me the, detect, identify the, look up, fetch, in order, alphabetical, as a flat list, reply with, match,
    pick, choose one, normalise, normalize, write down, note down, repeat, confirm, notify, fill in, hashtag, put
    this, on which, into which, comma separated, same order, phan loai, dich sang, dich cau, dich cac, noi cau,
    trich, liet ke, sap xep, doi, dem, cong giup, bao nhieu, co hay khong, co hoac khong, co phai, chinh ta, thu do,
    lay, tach, rut gon, chi ghi, chi can, tra loi bang, cho biet, may ngay, may gio, bao lau, la gi, la ai, o dau, o
    tinh nao, nao sau day, thuoc loai, thuoc nhom, thuoc chu de, tieng gi, viet day du, viet hoa, chu thuong, chu
    hoa, ghi so, ghi lai, ghi ten, hay la, hoi gia, tin nhan ngan, gan nhan, gan mot, tra cuu, kiem tra ton, chon
    mot, loai bo, chuan hoa, ngay nao, thang nao, nam nao, doi nao, phong nao, khi nao, may kwh, het may, xac nhan
    voi, nhan khach, nhung ngay nao, may chu nao, them ba
"""
DEEP = """
    reason, reasoned, reasoning, evidence, proof, argument, derivation, calculation, assumption, uncertainty,
    certainty, confidence, range, interval, sensitivity, ranking, ranked, severity, hypothesis, hypotheses, option,
    fallback, risk, rollback, dependencies, failure mode, edge case, counterexample, invariant, bound, algorithm,
    method, expected effect, expected gain, effect, verify, confirm, rejected, condition, cash flow, recommendation,
    advice, opinion, strategy, diagnosis, verdict, why it, how to tell, limits, gap, what would change, migration,
    sound, phased, feasible, ly le, lap luan, bang chung, can cu, chung minh, gia dinh, gia thuyet, do tin cay,
    khoang tin cay, do nhay, sai so, xep hang, rui ro, phuong an, du phong, duong lui, phu thuoc, dieu kien, khuyen
    nghi, chan doan, can duoi, thuat toan, loi giai, kiem thu, phep thu, xac nhan, tinh toan, ton that, gay nhieu,
    bien phap, ket luan
"""
BRIEF = """
    one word, a word, one of, number, figure, integer, yes, no, true, false, name, value, field, json, csv, array,
    list, comma, date, time, hh mm, label, tag, id, code, status, sms, text message, short, line, one line, single,
    key, same, unchanged, one sentence, letter, row, item, quantity, amount, mot tu, mot cau, mot dong, con so, ten,
    gia tri, truong, nhan, dong, ngay, gio, ma, so luong, vi tri, trang thai, tin nhan, co khong, so nguyen, so thu
    tu
"""
QUESTION = """
    why, how could, how can, how would, how should, what if, what else, vi sao, tai sao, lam sao, the nao, ra sao
"""
JOIN = "and, or, but, if, when, even, va, hay, hoac, neu, khi, ke ca"
LENGTHS = {
    10: """
    yes or no, yes no, true or false, one word, only the, a number only, one number, only a number, one figure,
    co hoac khong, co hay khong, chi ghi, ghi so, mot tu, mot con so
    """,
    50: "one sentence, one line, one liner, single sentence, mot cau, mot dong",
    150: "a paragraph, one paragraph, mot doan van",
    700: "one page, a page, mot trang",
}
"""By tokens, what a request says of the length of its answer."""
VIETNAMESE = frozenset({
    "cua", "khong", "nhung", "cac", "cho", "duoc", "trong", "voi", "nay", "mot", "la", "khach", "viet", "toi", "minh",
    "sau", "giai", "va", "thich", "lai", "doi",
})  # fmt: skip
"""Syllables that tell Vietnamese typed without marks; some occur in other languages, so three of them are wanted."""


@lru_cache(8_192)
def stem(word: str) -> str:
    """A word without its English ending, which no Vietnamese syllable of five letters and more has."""
    if len(word) > 4:
        for ending in ("ing", "ed", "es", "s", "e"):
            if word.endswith(ending) and len(word) - len(ending) > 2:
                return word[: -len(ending)]
    return word


Phrases = dict[str, tuple[tuple[tuple[str, ...], str], ...]]
"""By the first stem: all stems of each phrase that begins with it, the longest first, and what it is a sign of."""


def phrases(lists: dict[str, str]) -> Phrases:
    """Comma separated lists by what they are a sign of, made ready to be looked for."""
    found: defaultdict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for sign, listed in lists.items():
        for phrase in listed.split(","):
            stems = tuple(map(stem, phrase.split()))
            found[stems[0]].append((stems, sign))
    return {first: tuple(sorted(of, key=lambda item: -len(item[0]))) for first, of in found.items()}


WORK = phrases({"hard": HARD, "moderate": MODERATE, "easy": EASY})
ANSWER = phrases({"deep": DEEP, "brief": BRIEF})
SYNTAX = phrases({"questions": QUESTION, "joins": JOIN})
LENGTH = phrases({str(tokens): listed for tokens, listed in LENGTHS.items()})
