import { clientWords } from "./client-words.ts";

type SignIn = {
  result: "success" | "failure" | "denied";
  timestamp: string;
  ipAddress: string | null;
  userAgent: string | null;
  details: Readonly<Record<string, unknown>>;
};
type AccountRow = { action: string; result: SignIn["result"]; timestamp: string };

/** So many refusals within a day are more than mistakes; a week later they are history. */
const [leastCount, dayMs, recentDays] = [10, 86_400_000, 7];

/** Refused sign-ins of an account that look like guessing, and what came of them. */
export type Guesses = {
  count: number;
  /** The first and the last of them, ISO 8601. */
  firstAt: string;
  lastAt: string;
  /** Where they came from, and with what outcome. */
  sentence: string;
  /** Whether somebody else may have the password, or a session. */
  isSerious: boolean;
};

const at = ({ timestamp }: { timestamp: string }) => Date.parse(timestamp);

/** What the newest sign-ins of an account say of guesses at its password; null where nothing suggests any. */
export function guessedSignIns(newestFirst: readonly SignIn[], now: Date): Guesses | null {
  const refused = newestFirst.filter(({ result }) => result !== "success");
  const start = refused.findIndex((each, index) => {
    const other = refused[index + leastCount - 1];
    return other !== undefined && at(each) - at(other) <= dayMs;
  });
  const last = refused[start];
  if (last === undefined || now.getTime() - at(last) > recentDays * dayMs) return null;
  const guesses = refused.slice(start).filter((each) => at(last) - at(each) <= dayMs);
  const first = guesses.at(-1) ?? last;
  const addresses = new Set(guesses.map(({ ipAddress }) => ipAddress));
  const isEntered = newestFirst.some(
    (row) => row.result === "success" && row.ipAddress !== null && addresses.has(row.ipAddress) && at(row) > at(first),
  );
  const isPasswordRight = guesses.some(({ details }) => details.factor === "mfa");
  return {
    count: guesses.length,
    firstAt: first.timestamp,
    lastAt: last.timestamp,
    sentence: `${fromWords(guesses)}${outcomeWords(isEntered, isPasswordRight)}`,
    isSerious: isEntered || isPasswordRight,
  };
}

function fromWords(guesses: readonly SignIn[]): string {
  const addresses = [...new Set(guesses.map(({ ipAddress }) => ipAddress ?? "an unknown address"))];
  const clients = [...new Set(guesses.map(({ userAgent }) => clientWords(userAgent)))];
  const [client] = clients;
  return [
    addresses.length === 1 ? `All came from ${addresses[0]}` : `They came from ${addresses.length} addresses`,
    ...(clients.length === 1 && client ? [` with ${client}`] : []),
  ].join("");
}

const outcomeWords = (isEntered: boolean, isPasswordRight: boolean) =>
  isEntered
    ? ". A later sign-in from there was accepted."
    : isPasswordRight
      ? ". The password was right in some, the code was wrong."
      : ", and no sign-in from there was accepted.";

/** What keeps a guesser out. */
const answers: Readonly<Record<string, string>> = {
  "user.sessions.end": "all sessions were ended",
  "user.password.change": "the password was changed",
  "user.password.reset": "the password was reset",
};

/** What was done to an account since an instant that keeps a guesser out. */
export function answersSince(since: string, rows: readonly AccountRow[]): { words: string; isPasswordNew: boolean } {
  const done = rows
    .filter((row) => row.result === "success" && Object.hasOwn(answers, row.action) && at(row) > Date.parse(since))
    .map(({ action }) => action)
    .reverse();
  const words = [...new Set(done)].map((action) => answers[action]).join(", ");
  return {
    words: words === "" ? "" : `Since then ${words.replace(/, (?!.*, )/, " and ")}.`,
    isPasswordNew: done.some((action) => action.startsWith("user.password.")),
  };
}
