import { longerThan, validationError } from "@muster/kit";
import { isCommonPassword } from "./common-password.ts";

/**
 * What is wrong with a new password of this user, or null: 12 to 1,024 characters, not their e-mail, and none that is
 * tried first.
 */
export function newPasswordError(password: string, email: string): string | null {
  if ([...password].length < 12 || longerThan(password, 1_024)) return "12 to 1,024 characters";
  if (password.trim().toLowerCase() === email.toLowerCase()) return "Must not be the e-mail address";
  if (isCommonPassword(password, email)) {
    return "Too easy to guess: no well-known password, name or e-mail, also not with digits or signs around it, and no pattern";
  }
  return null;
}

/** Throws `validation_failed` on `field` with what is wrong. */
export function checkNewPassword(password: string, email: string, field = "password"): void {
  const error = newPasswordError(password, email);
  if (error) throw validationError({ [field]: [error] });
}
