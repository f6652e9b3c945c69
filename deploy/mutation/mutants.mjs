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

/** Every mutant of a file, in the order of its text. */
export function mutantsOf(file) {
  const source = readFileSync(file, "utf8");
  const found = [];
  const add = (node, kind, text) => {
    const line = source.slice(0, node.start).split("\n").length;
    found.push({ file, start: node.start, end: node.end, text, kind, line });
  };
  const textOf = ({ start, end }) => source.slice(start, end);
  const visit = (node) => {
    if (node === null || typeof node !== "object") return;
    if (Array.isArray(node)) return node.forEach(visit);
    // Types are not run; texts and metrics are not rules.
    if (/^TS(Type|Interface|Union|Function)/.test(node.type ?? "") || node.type === "ImportDeclaration") return;
    if (node.type === "BinaryExpression" || node.type === "LogicalExpression") {
      const other = swapped[node.operator];
      const isText = [node.left, node.right].some(
        ({ type, value }) => type === "TemplateLiteral" || typeof value === "string",
      );
      if (other && !(isText && node.operator === "+")) {
        add(node, node.operator, `${textOf(node.left)} ${other} ${textOf(node.right)}`);
      }
    }
    // The negation of an equality is a mutant already.
    const isEquality = ["===", "!=="].includes(node.test?.operator);
    if (node.type === "IfStatement" && !isEquality) add(node.test, "if", `!(${textOf(node.test)})`);
    if (node.type === "ConditionalExpression" && !isEquality) add(node.test, "?", `!(${textOf(node.test)})`);
    if (node.type === "Literal" && typeof node.value === "boolean") add(node, "boolean", String(!node.value));
    if (node.type === "Literal" && typeof node.value === "number" && node.value < 1e6)
      add(node, "number", String(node.value + 1));
    if (node.type === "ExpressionStatement" && node.expression.type.endsWith("CallExpression")) add(node, "call", ";");
    if (node.type === "ReturnStatement" && node.argument?.type === "Identifier")
      add(node.argument, "return", "undefined");
    for (const value of Object.values(node)) visit(value);
  };
  visit(parseAst(source, { lang: "ts" }).body);
  return found.sort((a, b) => a.start - b.start);
}
