/** A piece of SQL text: code, or something in which code characters mean nothing. */
export type Piece = { kind: "code" | "quoted" | "comment"; text: string };

// Escape strings (E'…') know backslashes; plain strings and identifiers double their quote; block comments nest.
const opening = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$|[eE]'|['"]|--|\/\*/g;

/** Cuts SQL into code, quoted (strings, identifiers, dollar quotes) and comments, losing nothing. */
export function sqlPieces(source: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  const push = (kind: Piece["kind"], end: number) => {
    if (end > at) pieces.push({ kind, text: source.slice(at, end) });
    at = end;
  };
  let from = 0;
  for (;;) {
    opening.lastIndex = from;
    const match = opening.exec(source);
    if (!match) break;
    const [token] = match;
    const before = source[match.index - 1] ?? "";
    // `a$b$` is a name, and the e of `name'` is no escape prefix.
    if (/[\w$\u0080-\uffff]/.test(before) && !/^['"]|^--|^\/\*/.test(token)) {
      from = match.index + 1;
      continue;
    }
    push("code", match.index);
    const end = endOf(source, match.index, token);
    push(token === "--" || token === "/*" ? "comment" : "quoted", end);
    from = end;
  }
  push("code", source.length);
  return pieces;
}

function endOf(source: string, start: number, token: string): number {
  const after = start + token.length;
  if (token === "--") {
    const newline = source.indexOf("\n", after);
    return newline < 0 ? source.length : newline;
  }
  if (token === "/*") return endOfComment(source, after);
  if (token.startsWith("$")) {
    const close = source.indexOf(token, after);
    return close < 0 ? source.length : close + token.length;
  }
  const quote = token.at(-1);
  const escapes = token.length === 2;
  for (let i = after; i < source.length; i++) {
    if (escapes && source[i] === "\\") i++;
    else if (source[i] === quote) {
      if (source[i + 1] !== quote) return i + 1;
      i++;
    }
  }
  return source.length;
}

function endOfComment(source: string, after: number): number {
  let depth = 1;
  for (let i = after; i < source.length; i++) {
    const pair = source.slice(i, i + 2);
    if (pair === "/*") depth++;
    else if (pair === "*/") depth--;
    else continue;
    i++;
    if (depth === 0) return i + 1;
  }
  return source.length;
}

/** The statements of a text, without those that hold nothing but comments. */
export function sqlStatements(source: string): string[] {
  const statements: string[] = [];
  let text = "";
  let hasCode = false;
  const finish = () => {
    if (hasCode) statements.push(text.trim());
    text = "";
    hasCode = false;
  };
  for (const piece of sqlPieces(source)) {
    if (piece.kind !== "code") {
      text += piece.text;
      if (piece.kind === "quoted") hasCode = true;
      continue;
    }
    piece.text.split(";").forEach((part, index) => {
      if (index > 0) finish();
      text += part;
      if (part.trim() !== "") hasCode = true;
    });
  }
  finish();
  return statements;
}

/** The code of a statement alone: comments and quoted parts are blank. */
export function sqlCode(statement: string): string {
  return sqlPieces(statement)
    .map((piece) => (piece.kind === "code" ? piece.text : " "))
    .join("")
    .trim();
}
