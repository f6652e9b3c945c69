/** Our own sentences where they are better than the API's text: what happened, and what to do next. */
const sentences: Readonly<Record<string, string>> = {
  network_error: "Muster cannot be reached. Check your connection; nothing was changed.",
  invalid_credentials: "E-mail or password is wrong.",
  invalid_mfa_code: "The code is wrong or was used already.",
  invalid_mfa_token: "This sign-in took too long. Start again.",
  invalid_passkey: "The passkey was not accepted.",
  invalid_user_code: "This code is wrong, was used, or has expired. Compare it with the command line.",
  invalid_exchange_code: "This sign-in was completed already, or took too long. Start again.",
  invalid_token: "This link does not work any more: it was used already, or has expired.",
  sso_required: "Your organization signs in through its identity provider.",
  cross_origin: "Open this page at the address of Muster itself.",
  internal: "Something went wrong on our side.",
  unavailable: "A part of Muster does not answer at the moment.",
  overloaded: "Muster is busy at the moment.",
  deadline_exceeded: "The answer took too long.",
};

/** What the sentence needs of an error of the API. */
type Refusal = { code: string; error: string; retryAfterSeconds: number | null };

/** One sentence for users; for `rate_limited` it names the time to wait. */
export function failureSentence({ code, error, retryAfterSeconds }: Refusal): string {
  if (code === "rate_limited") {
    return retryAfterSeconds === null
      ? "Too many attempts."
      : `Too many attempts. Try again in ${waiting(retryAfterSeconds)}.`;
  }
  const own = Object.hasOwn(sentences, code) ? sentences[code] : undefined;
  return own ?? (/[.!?]$/.test(error) ? error : `${error}.`);
}

/** Whether the same request may be answered later: no network, an API that is busy or that fails. */
export const isPassing = ({ status }: { status: number }): boolean => status === 0 || status === 429 || status >= 500;

/** A time to wait, in words. */
export function waiting(seconds: number): string {
  const whole = Math.max(1, Math.ceil(seconds));
  if (whole < 120) return `${whole} ${whole === 1 ? "second" : "seconds"}`;
  const minutes = Math.ceil(whole / 60);
  return minutes < 120 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`;
}
