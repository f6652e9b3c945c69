import { signingSecretError } from "@muster/kit";
import { z } from "zod";

/**
 * A signing secret as clients send it: the one rule of libs/kit. The bound is repeated here for the OpenAPI document.
 */
export const secretIn = z
  .string()
  .max(512)
  .superRefine((secret, { addIssue }) => {
    const error = signingSecretError(secret);
    if (error) addIssue({ code: "custom", message: error });
  })
  .meta({
    description:
      "Signs each request; printable ASCII. After `whsec_` it is base64 of 24 to 64 bytes. Leave it out where one is generated, or take at least 16 random characters.",
  });

const strength = z.enum(["weak", "strong"]);

export const secretStrength = strength
  .nullable()
  .meta({ description: "`weak`: below 16 characters, replace it by a generated one. Null without a secret." });

export const strengthOf = (text: string): z.input<typeof secretStrength> => (text === "" ? null : strength.parse(text));
