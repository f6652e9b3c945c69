// Mutants of a source: each has one expression changed, as a person changes it by mistake.
import { readFileSync } from "node:fs";
import { parseAst } from "rolldown/parseAst";

/** @typedef {{ file: string, start: number, end: number, text: string, kind: string, line: number }} Mutant */

const swapped = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "&&": "||",
  "||": "&&",
  "+": "-",
  "-": "+",
  "*": "/",
};

const isText = ({ type, value }) => type === "TemplateLiteral" || typeof value === "string";

/** The expression with another operator; undefined where none is a mistake that the compiler leaves. */
function withOtherOperator({ operator, start, end, left, right }, source) {
  const other = swapped[operator];
  if (other === undefined || (operator === "+" && [left, right].some(isText))) return undefined;
  const between = source.slice(left.end, right.start).replace(operator, other);
  return source.slice(start, left.end) + between + source.slice(right.start, end);
}

/** What of a node may be changed by itself: `{ node, kind, text }`. */
function changesOf(node, source) {
  const { type, test, value, expression, argument } = node;
  switch (type) {
    case "BinaryExpression":
    case "LogicalExpression": {
      const text = withOtherOperator(node, source);
      return text === undefined ? [] : [{ node, kind: node.operator, text }];
    }
    case "IfStatement":
    case "ConditionalExpression": {
      // The negation of an equality is a mutant already.
      if (["===", "!=="].includes(test.operator)) return [];
      const kind = type === "IfStatement" ? "if" : "?";
      return [{ node: test, kind, text: `!(${source.slice(test.start, test.end)})` }];
    }
    case "Literal":
      if (typeof value === "boolean") return [{ node, kind: "boolean", text: String(!value) }];
      return typeof value === "number" && value < 1e6 ? [{ node, kind: "number", text: String(value + 1) }] : [];
    case "ExpressionStatement":
      return expression.type.endsWith("CallExpression") ? [{ node: expression, kind: "call", text: "undefined" }] : [];
    case "ReturnStatement":
      return argument?.type === "Identifier" ? [{ node: argument, kind: "return", text: "undefined" }] : [];
    default:
      return [];
  }
}

/** Every mutant of a file, in the order of its text. */
export function mutantsOf(file) {
  const source = readFileSync(file, "utf8");
  const found = [];
  const visit = (node) => {
    if (node === null || typeof node !== "object") return;
    if (Array.isArray(node)) return node.forEach(visit);
    if (node.type === "ImportDeclaration") return;
    // Types are not run: of an assertion, its expression is.
    if (node.type?.startsWith("TS")) return visit(node.expression ?? null);
    for (const { node: changed, kind, text } of changesOf(node, source)) {
      const { start, end } = changed;
      found.push({ file, start, end, text, kind, line: source.slice(0, start).split("\n").length });
    }
    // A name of a member is no value.
    for (const [name, value] of Object.entries(node)) if (name !== "key" || node.computed) visit(value);
  };
  visit(parseAst(source, { lang: "ts" }).body);
  return found.sort((a, b) => a.start - b.start);
}
