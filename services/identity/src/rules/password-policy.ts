import { validationError } from "@muster/kit";

/** 12 to 1,024 characters and not the e-mail itself; throws `validation_failed` on `field`. */
export function checkNewPassword(password: string, email: string, field = "password"): void {
  const bad = (text: string) => validationError({ [field]: [text] });
  if ([...password].length < 12 || password.length > 1_024) throw bad("12 to 1,024 characters");
  if (password.trim().toLowerCase() === email.toLowerCase()) throw bad("Must not be the e-mail address");
}
