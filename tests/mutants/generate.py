# SPDX-License-Identifier: MIT
"""Makes mutants of C sources: a mutant is one small change of one statement.

The sources are split into tokens, not parsed, so this is for the style of this tree:
binary operators have blanks around them, and a block begins behind a parenthesis, a
keyword or a statement. Only bodies of functions are changed; comments, strings,
preprocessor lines, assembly and compile-time assertions never are. Changes keep line
numbers.
"""
import difflib
import random
import re
from collections import namedtuple

Token = namedtuple("Token", "kind text at")
# op: the operator. at: byte offset of the mutated token. edits: (begin, end, new text)
Site = namedtuple("Site", "op at edits")
# index, end: tokens of the statement. head: "if", "for" ... for the part in parentheses
Statement = namedtuple("Statement", "index end head void")

LEXER = re.compile(r"""
    (?P<comment> /\*.*?\*/ | //[^\n]*)
  | (?P<cpp> ^[ \t]*\#(?: \\\n | /\*.*?\*/ | [^\n])*)
  | (?P<string> "(?:\\.|[^"\\])*")
  | (?P<char> '(?:\\.|[^'\\])*')
  | (?P<number> \.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<name> [A-Za-z_]\w*)
  | (?P<mark> <<=|>>=|\.\.\.|->|\+\+|--|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||\S)
  """, re.DOTALL | re.MULTILINE | re.VERBOSE)
CLOSES = {"(": ")", "[": "]", "{": "}"}
KEYWORDS = ("if", "while", "for", "switch")
TYPES = re.compile(r"(const|static|struct|enum|union|unsigned|signed|void|char|short|int|long|"
                   r"float|double|bool|typedef|extern|register|\w+_t|(__)?[us](8|16|32|64))$")
LEFT_ALONE = re.compile(r"(__)?asm(__)?$|BUILD_BUG_ON\w*$|_?[Ss]tatic_assert$|assert$|"
                        r"goto$|typedef$|NOKPROBE_SYMBOL$|EXPORT_SYMBOL\w*$")
BARRIERS = re.compile(r"barrier$|(smp_)?[rw]?mb$|smp_mb__\w+$|(__)?atomic_\w*fence$|"
                      r"__sync_synchronize$")
ORDERED = re.compile(r"__ATOMIC_(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)$")
CONSTANT = re.compile(r"[A-Z][A-Z0-9_]+$")
SWAPS = {
    "boundary": {"<": "<=", "<=": "<", ">": ">=", ">=": ">"},
    "equality": {"==": "!=", "!=": "=="},
    "logic": {"&&": "||", "||": "&&"},
    "arithmetic": {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&": "|", "|": "&",
                   "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
                   "|=": "&=", "&=": "|=", "<<=": ">>=", ">>=": "<<=", "++": "--",
                   "--": "++"},
}
SWAP_OF = {mark: (op, new) for op, pairs in SWAPS.items() for mark, new in pairs.items()}
ASSIGNS = ("=", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "<<=", ">>=")


class Source:
    """One file: its statements, and the mutants of each."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.tokens = [Token(m.lastgroup, m.group(), m.start())
                       for m in LEXER.finditer(text)
                       if m.lastgroup not in ("comment", "cpp")]
        self.match = self._match()
        self.statements = []
        self._top(0, len(self.tokens))

    def _match(self):
        opened, match = [], {}
        for i, token in enumerate(self.tokens):
            if token.text in CLOSES:
                opened.append(i)
            elif token.text in CLOSES.values():
                start = opened.pop()
                if CLOSES[self.tokens[start].text] != token.text:
                    raise ValueError(f"{self.path}: line {self.line(token.at)}: unbalanced")
                match[start] = i
        if opened:
            raise ValueError(f"{self.path}: unbalanced")
        return match

    def line(self, at):
        return self.text.count("\n", 0, at) + 1

    def _is(self, i, *texts):
        return i < len(self.tokens) and self.tokens[i].text in texts

    def _top(self, i, end):
        """Finds the functions between two tokens outside of functions."""
        start = i
        while i < end:
            text = self.tokens[i].text
            if text == "{" and self._is(i - 1, ")"):
                head = [t.text for t in self.tokens[start:i]]
                name = head.index("(") if "(" in head else 0
                self._block(i + 1, self.match[i], "void" in head[:name] and "*" not in head[:name])
                i = self.match[i]
            elif text == "{" and self.tokens[i - 1].kind == "string":
                self._top(i + 1, self.match[i])		# extern "C"
                i = self.match[i]
            elif text in CLOSES:
                i = self.match[i]
            i += 1
            if self._is(i - 1, ";", "}"):
                start = i

    def _block(self, i, end, void):
        """Finds the statements of a block, those of inner blocks included."""
        while i < end:
            text = self.tokens[i].text
            if text in "{};" or text in ("else", "do"):
                i += 1
            elif text in KEYWORDS:
                close = self.match[i + 1]
                self.statements.append(Statement(i + 1, close, text, void))
                i = close + 1
            elif text in ("case", "default") or self._is_label(i):
                while not self._is(i, ":"):
                    i = self.match.get(i, i) + 1
                i += 1
            elif self._is(i + 1, "(") and self._is(self.match[i + 1] + 1, "{"):
                i = self.match[i + 1] + 1		# a macro that is a loop
            else:
                start = i
                while not self._is(i, ";"):
                    i = self.match.get(i, i) + 1
                self.statements.append(Statement(start, i, "", void))
                i += 1

    def _is_label(self, i):
        return self.tokens[i].kind == "name" and self._is(i + 1, ":") and \
            self._is(i - 1, ";", "{", "}")

    def _is_declaration(self, s):
        first = self.tokens[s.index]
        return TYPES.match(first.text) is not None or \
            first.kind == "name" and first.text != "return" and \
            (self.tokens[s.index + 1].kind == "name" or
             self._is(s.index + 1, "*") and not self._blank_after(s.index + 1))

    def _blank_after(self, i):
        token = self.tokens[i]
        return self.text[token.at + len(token.text)].isspace()

    def _is_binary(self, i):
        return self.text[self.tokens[i].at - 1].isspace() and self._blank_after(i) and \
            (self.tokens[i - 1].kind in ("name", "number", "char") or self._is(i - 1, ")", "]"))

    def _gone(self, s, text):
        """The edit that puts text in place of the statement."""
        begin, end = self.tokens[s.index].at, self.tokens[s.end].at + 1
        return [(begin, end, text + "\n" * self.text.count("\n", begin, end))]

    def sites(self, s):
        """All mutants of a statement."""
        first = self.tokens[s.index]
        if LEFT_ALONE.match(first.text) or \
                s.head == "while" and self.tokens[s.index + 1].text in ("0", "1", "true"):
            return []
        declares = not s.head and self._is_declaration(s)
        if declares and not any(self._is(i, "=") for i in range(s.index, s.end)):
            return []
        found = []
        if s.head:
            found += self._negated(s)
        elif not declares:
            found += self._replaced(s)
        begin = s.index
        if declares:		# array sizes are as they are
            begin = next(i for i in range(s.index, s.end) if self._is(i, "="))
        for i in range(begin, s.end):
            found += self._changed(i, s.head)
        return found

    def _negated(self, s):
        begin, end = s.index, s.end
        if s.head == "switch":
            return []
        if s.head == "for":
            semicolons = [i for i in range(begin, end) if self._is(i, ";")]
            if len(semicolons) != 2 or semicolons[1] == semicolons[0] + 1:
                return []
            begin, end = semicolons
        at = self.tokens[begin + 1].at
        last = self.tokens[end - 1]
        after = last.at + len(last.text)
        return [Site("negate", at, [(at, at, "!("), (after, after, ")")])]

    def _replaced(self, s):
        """Mutants of a statement as a whole."""
        first, at = self.tokens[s.index], self.tokens[s.index].at
        if first.text == "break":
            return [Site("break", at, self._gone(s, "{}"))]
        if first.text == "continue":
            return [Site("continue", at, self._gone(s, "break;"))]
        if first.text == "return":
            if s.end <= s.index + 2 and self._is(s.index + 1, ";", "0", "NULL", "false"):
                return []
            return [Site("return", at, self._gone(s, "return 0;"))]
        found = [Site("return", at, self._gone(s, "return;" if s.void else "return 0;"))]
        i = s.index
        while i < s.end and (self.tokens[i].kind == "name" or self._is(i, ".", "->")):
            i += 1
        if self._is(i, "(") and self.match[i] + 1 == s.end:
            op = "barrier" if BARRIERS.match(first.text) else "call"
            found.append(Site(op, at, self._gone(s, "{}")))
        i = s.index
        while i < s.end and not self._is(i, *ASSIGNS):
            i = self.match.get(i, i) + 1
        if i < s.end:
            found.append(Site("assign", at, self._gone(s, "{}")))
        return found

    def _changed(self, i, head):
        """Mutants that change one token of an expression."""
        token = self.tokens[i]
        text, at, end = token.text, token.at, token.at + len(token.text)
        if token.kind == "number":
            return self._off_by_one(token)
        if token.kind == "name":
            return self._named(i)
        if text == "!" and not head:
            return [Site("not", at, [(at, end, "")])]
        if text in SWAP_OF and (text in ("++", "--") or self._is_binary(i)):
            op, new = SWAP_OF[text]
            return [Site(op, at, [(at, end, new)])]
        return []

    def _off_by_one(self, token):
        text, at, end = token.text, token.at, token.at + len(token.text)
        is_hex = text[:2].lower() == "0x"
        parts = re.match(r"(0[xX][0-9a-fA-F]+|[\d.]+(?:[eE][-+]?\d+)?)([uUlLfF]*)$", text)
        if not parts:		# 0x1p-52
            return []
        digits, suffix = parts.groups()
        if not is_hex and re.search(r"[.eE]", digits):
            values = [(way, repr(float(digits) + way)) for way in (1, -1)]
        else:
            octal = digits[0] == "0" and digits.isdigit() and len(digits) > 1
            number = int(digits, 8 if octal else 0)
            values = [(1, f"{number + 1:#x}" if is_hex else str(number + 1))]
            if number > 0:
                values.append((-1, f"{number - 1:#x}" if is_hex else str(number - 1)))
        return [Site("constant" + ("+1" if way > 0 else "-1"), at, [(at, end, new + suffix)])
                for way, new in values]

    def _named(self, i):
        token = self.tokens[i]
        text, at, end = token.text, token.at, token.at + len(token.text)
        if ORDERED.match(text):
            return [Site("barrier", at, [(at, end, "__ATOMIC_RELAXED")])]
        if self._is(i + 1, "("):
            inner = self.tokens[i + 1].at + 1
            close = self.tokens[self.match[i + 1]].at
            if text == "smp_load_acquire":
                edits = [(at, inner, "READ_ONCE(*("), (close, close, ")")]
            elif text == "READ_ONCE":
                edits = [(at, inner, "(")]
            elif text in ("smp_store_release", "WRITE_ONCE"):
                comma = next(j for j in self._inside(i + 1) if self._is(j, ","))
                middle = self.tokens[comma].at
                edits = [(at, inner, "WRITE_ONCE(*("), (middle, middle, ")")] \
                    if text == "smp_store_release" else \
                    [(at, inner, "(("), (middle, middle + 1, ") ="), (close, close, "")]
            else:
                return []
            return [Site("barrier", at, edits)]
        if CONSTANT.match(text) and text not in ("NULL", "NAN") and \
                not self._is(i - 1, ".", "->", "struct"):
            return [Site(f"constant{way}1", at, [(at, end, f"({text} {way} 1)")])
                    for way in "+-"]
        return []

    def _inside(self, i):
        """The tokens between a parenthesis and its end, outside of inner ones."""
        end, i = self.match[i], i + 1
        while i < end:
            yield i
            i = self.match.get(i, i) + 1

    def apply(self, site):
        text = self.text
        for begin, end, new in sorted(site.edits, reverse=True):
            text = text[:begin] + new + text[end:]
        return text

    def name(self, site):
        """The mutant's id: file:line:column:operator"""
        start = self.text.rfind("\n", 0, site.at) + 1
        return f"{self.path}:{self.line(site.at)}:{site.at - start + 1}:{site.op}"

    def diff(self, site):
        lines = difflib.unified_diff(self.text.splitlines(), self.apply(site).splitlines(),
                                     n=0, lineterm="")
        return "\n".join(line for line in lines
                         if line[0] in "+-" and line[:3] not in ("+++", "---"))


def plan(sources, number, seed):
    """Yields, for each of a number of mutants, its candidates in a random order.

    All statements of all files stand in one row, which is cut into equal parts. The
    candidates for one mutant are those of one part; each statement gives one before any
    gives a second, and each kind of operator has the same chance.
    """
    row = []
    for source in sources:
        for statement in source.statements:
            kinds = {}
            for site in source.sites(statement):
                kinds.setdefault(re.sub(r"[+-]1$", "", site.op), []).append(site)
            if kinds:
                row.append((source, kinds))
    number = min(number, len(row))
    for n in range(number):
        part = row[n * len(row) // number:(n + 1) * len(row) // number]
        dice = random.Random(f"{seed}/{n}")
        ranked = []
        for source, kinds in part:
            sites = []
            for kind in dice.sample(sorted(kinds), len(kinds)):
                sites += dice.sample(kinds[kind], len(kinds[kind]))
            ranked += [(place, dice.random(), source, site)
                       for place, site in enumerate(sites)]
        ranked.sort(key=lambda entry: entry[:2])
        yield [(source, site) for _, _, source, site in ranked]
