import { runsOf } from "./runs.ts";

type SignIn = {
  id: string;
  result: "success" | "failure" | "denied";
  errorMessage: string | null;
  ipAddress: string | null;
  userAgent: string | null;
  details: Readonly<Record<string, unknown>>;
};

/** Sign-ins in a row that ended alike, from one address by one client, as one. */
export const signInRuns = <R extends SignIn>(rows: readonly R[]): { first: R; count: number }[] =>
  runsOf(rows, (row) => [row.result, wayOf(row), row.ipAddress, row.userAgent].join(" "));

/** By what somebody signed in, or why not; empty where nothing is known. */
function wayOf({ result, errorMessage, details }: SignIn): string {
  if (result !== "success") return errorMessage ?? "";
  const provider = typeof details.providerName === "string" ? details.providerName : "a provider";
  const ways = [
    ...(details.method === "sso" ? [`through ${provider}`] : []),
    ...(details.mfa === true ? ["with a second factor"] : []),
  ];
  return ways.join(", ");
}

/** How a sign-in ended, or so many in a row, and by what or why, each in a few words. */
export function signInWords(row: SignIn, count: number): { did: string; how: string } {
  const did = row.result === "success" ? "Signed in" : "Refused";
  return { did: count === 1 ? did : `${did} ${count.toLocaleString("en")} times`, how: wayOf(row) };
}

/** How many of the last sign-ins were refused, as a sentence; null while none was. */
export function refusedSignIns(rows: readonly Pick<SignIn, "result">[]): string | null {
  const refused = rows.filter(({ result }) => result !== "success").length;
  if (refused === 0) return null;
  if (rows.length === 1) return "The last sign-in was refused.";
  return `${refused} of the last ${rows.length} sign-ins ${refused === 1 ? "was" : "were"} refused.`;
}
