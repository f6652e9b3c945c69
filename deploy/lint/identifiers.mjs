import { createRequire } from "node:module";

// The compiler that builds this repository has no programming interface; the client generator's has.
const ts = createRequire(new URL("../../libs/client/package.json", import.meta.url))("typescript");

/** Parts of identifiers and of files' names, by what to say instead: in texts these words are ordinary English. */
const words = {
  known: "cached, existing or allowed",
  person: "user",
  persons: "users",
  people: "users",
  place: "slot, position, location, owner or tenant",
  places: "slots, positions, locations, owners or tenants",
  behind: "throttled or lagging",
  reach: "scope or visibility",
  reached: "scope or visibility",
  reaches: "scope or visibility",
  stranger: "outsider",
  strangers: "outsiders",
  given: "requested, or what it holds",
  underway: "inFlight or running",
  asked: "requested",
  heard: "received",
  fault: "error or failure",
  faults: "errors or failures",
};

/** Public fields, error codes, columns and names of other systems. */
const kept = new Set(["knownVersion", "keysGiven", "limit_reached", "given_name", "givenName", "given_up", "heard_at"]);
/** Stored values, and the field's term for an error that a bench injects. */
const keptIn = {
  "deploy/bench/src/failover": ["Fault", "fault", "faults", "failover-faults.ts"],
  "deploy/bench/src/revocations.ts": ["fault"],
  "libs/testing/src/policies.ts": ["person"],
  "services/identity/src/rpc/role": ["people"],
};

/** The words of a name in camel, snake or kebab case, in lower case. */
export const parts = (name) =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);

/** What to say instead of this identifier or file's name, or null. */
export function identifierTerm(path, name) {
  const isKept = Object.entries(keptIn).some(([start, names]) => path.startsWith(start) && names.includes(name));
  if (isKept || kept.has(name)) return null;
  const found = parts(name.replaceAll(/under_?way/gi, "_underway_")).find((part) => Object.hasOwn(words, part));
  return found ? `${name}: "${found}" is ${words[found]} here` : null;
}

/**
 * The identifiers of a file, outside of its texts and comments, each once with the line of its first use.
 *
 * @param {string} path its ending says whether the source holds JSX
 * @param {string} source
 * @returns {Map<string, number>}
 */
export function identifiersOf(path, source) {
  const kind = path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, false, kind);
  const found = new Map();
  const visit = (node) => {
    if ((ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) && !found.has(node.text))
      found.set(node.text, file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

// Each word is found in a name, and in no text or comment; longer words that contain it are others.
for (const word of Object.keys(words)) {
  const name = `is_${word}`;
  const source = `// ${word}\nexport const of = { ${name}: "${word}", placeholder: \`${word} \${unknown(${name})}\` };`;
  const found = [...identifiersOf("a.ts", source).keys()].filter((each) => identifierTerm("a.ts", each) !== null);
  if (found.join() !== name) throw new Error(`identifiers.mjs finds "${found}" instead of "${name}"`);
}
for (const name of ["maxUnderWay", "isKnown", "byPlace", "person.tsx"])
  if (identifierTerm("a.ts", name) === null) throw new Error(`identifiers.mjs does not find the word in ${name}`);
