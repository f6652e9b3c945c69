// Fails on words of our own where the field has a term: in names of files and identifiers, texts of documents,
// sentences of routes and settings, and names of metrics and settings. docs/style.md has the table.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { identifiersOf, identifierTerm, parts } from "./identifiers.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Parts of names, by what to say instead. */
const names = {
  flight: "batch",
  flights: "batches",
  lane: "partition or queue",
  lanes: "partitions or queues",
  bell: "wake-up",
  doorbell: "wake-up",
  rung: "notified",
  told: "reported",
  untold: "unreported",
  trip: "login flow",
  living: "active",
  sight: "visibility",
  keeper: "reconciler",
  judge: "validate",
  judged: "validated",
  upkeep: "maintenance",
  poison: "dead letter",
  minted: "issued",
  forgiven: "failuresBeforeResume",
  begun: "started",
  twin: "alias",
  overlap: "grace",
  remembered: "cached",
};
/** "in flight" is the field's term for requests, "round trip" for the network. */
const namedWell = /in[_-]?flight|round[_-]?trip/gi;

/** Phrases of texts, each with a sentence in which it must be found. */
const phrases = [
  [/\b(cluster|relay|process|gateway|webhook|organization)s? at rest\b/i, "idle", "A cluster at rest only reads."],
  [/\bwhat (the )?others leave\b/i, "fair share", "At most half of what others leave."],
  [/\b(takes?|took|in) turns\b/i, "round-robin", "Organizations take turns."],
  [/\bput aside\b/i, "backlogged", "A burst is put aside."],
  [/\bdoorbell\b/i, "wake-up", "A doorbell rings."],
  [/\bunder way\b/i, "in flight, running", "Too many pushes are under way."],
  [/\bforgiven\b/i, "no longer count", "Failures are forgiven."],
  [
    /\b(service|gateway|server|database|agent|process|caller|client)s? (hears?|tells?)\b/i,
    "receives, reports",
    "The gateway hears of it.",
  ],
  [/\bframed wastefully\b/i, "what is wrong", "Request body is framed wastefully"],
];

/** The term to use instead of a part of this name, or null. */
function termFor(name) {
  const rest = name.replaceAll(namedWell, "");
  const found = parts(rest).find((part) => Object.hasOwn(names, part));
  return found ? `${name}: "${found}" is ${names[found]} here` : null;
}

function* phraseProblems(text) {
  for (const [phrase, term] of phrases) {
    const found = phrase.exec(text);
    if (found) yield `"${found[0]}": say ${term}`;
  }
}

// A pattern that finds nothing any more would pass everything.
for (const [, , sentence] of phrases)
  if ([...phraseProblems(sentence)].length === 0) throw new Error(`words.mjs does not find: ${sentence}`);
for (const name of ["inOneFlight", "LANES_MAX", "muster_outbox_bell_total", "round-trip-keeper"])
  if (termFor(name) === null) throw new Error(`words.mjs does not find the word in ${name}`);

/** Applied migrations, records of runs, and history. */
const left =
  /\/migrations\/|docs\/performance\/results|^(CHANGELOG|UPGRADING)|deploy\/lint\/|generated|package-lock|docs\/style\.md/;
/**
 * Columns, stored values and applied migrations keep their names where they are read; "in flight" may stand in a
 * sentence.
 */
const columnsOf = {
  "libs/db/": /\b(lanes?|0065_event_lanes)\b/g,
  "services/agent-release/": /\bforgiven\b/g,
  "services/identity/": /\bpoison\b/g,
  "services/tenancy/": /\bliving\b/g,
};
const folders = Object.keys(columnsOf);
function withoutKept(path, line) {
  const folder = folders.find((each) => path.startsWith(each));
  const text = line.replaceAll(/\b(lane|in flight)\b/gi, "");
  return folder ? text.replaceAll(columnsOf[folder], "") : text;
}

/** A test's name is a promise of what its `describe` names. */
const clause = /^\s*(?:(?:it|test|describe)[\w.]*(?:\([^)]*\))?|\]?\)?)\(["`](of|that|whose|which) /;
if (!clause.test('  ])("that is %s is refused"')) throw new Error("words.mjs does not find a clause as a test's name");

const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0");
const texts = (ending) =>
  tracked.filter((path) => ending.test(path) && !left.test(path) && existsSync(`${root}${path}`));
let problems = 0;
const report = (where, problem) => {
  console.error(`${where}: ${problem}`);
  problems += 1;
};

for (const path of texts(/\.(ts|tsx|mjs)$/)) {
  const file = path.split("/").at(-1);
  const term = termFor(file) ?? identifierTerm(path, file);
  if (term) report(path, term);
  const source = readFileSync(`${root}${path}`, "utf8");
  for (const [name, line] of identifiersOf(path, source)) {
    const instead = identifierTerm(path, name);
    if (instead) report(`${path}:${line}`, instead);
  }
  const seen = new Set();
  for (const [index, line] of source.split("\n").entries()) {
    const isProse = /^\s*(\/\/|\*|\/\*)/.test(line);
    // biome keeps code to this width, not comments; a type of JSDoc may not be broken.
    if (isProse && line.length > 120 && !line.includes("* @"))
      report(`${path}:${index + 1}`, "a comment beyond 120 columns");
    // Texts that users read: sentences of routes and settings, and messages wherever they arise.
    const isDescribed = /gateway\/src\/routes|\/config\.ts$/.test(path) && /["`]/.test(line);
    const isSentence = isDescribed || (!path.endsWith(".test.ts") && /["`][A-Z][^"`]* /.test(line));
    if (isProse || isSentence) for (const problem of phraseProblems(line)) report(`${path}:${index + 1}`, problem);
    if (path.endsWith(".test.ts") && clause.test(line)) report(`${path}:${index + 1}`, "a test's name is a clause");
    if (isProse) continue;
    for (const [name] of withoutKept(path, line).matchAll(/[A-Za-z_$][\w$]*/g)) {
      if (seen.has(name)) continue;
      seen.add(name);
      const instead = termFor(name);
      if (instead) report(`${path}:${index + 1}`, instead);
    }
  }
}
for (const path of texts(/\.(md|ya?ml|proto|tpl)$/))
  for (const [index, line] of readFileSync(`${root}${path}`, "utf8").split("\n").entries())
    for (const problem of phraseProblems(line)) report(`${path}:${index + 1}`, problem);
for (const path of ["charts/muster/files/settings.json", "docs/operations/metrics.md"])
  for (const [name] of readFileSync(`${root}${path}`, "utf8").matchAll(/\b([A-Z]+_[A-Z_]+|muster_[a-z_]+)\b/g)) {
    const term = termFor(name);
    if (term) report(path, term);
  }
if (problems > 0) process.exitCode = 1;
