import { toAppError } from "@muster/rpc";

/**
 * The code a call is refused with, and the fields or the reason it names; "ok" when it is answered. Any other error is
 * thrown.
 */
export async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "ok";
  } catch (error) {
    const { code, facts } = toAppError(error);
    const fields = (facts.details as { fieldErrors?: object } | undefined)?.fieldErrors;
    if (code === "internal") throw error;
    return fields ? `${code} ${Object.keys(fields).join(" ")}` : `${code}${facts.reason ? ` ${facts.reason}` : ""}`;
  }
}
