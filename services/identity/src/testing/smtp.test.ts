import { expect, it } from "@jest/globals";
import { createTransport } from "nodemailer";
import { startSmtp } from "./smtp.ts";

it("reads a token wherever its line is folded, also before two hyphens", async () => {
  const smtp = await startSmtp();
  const transport = createTransport({ url: smtp.url, pool: true });
  const tokens = Array.from({ length: 76 }, (_, before) => `${"a".repeat(before)}--${"b".repeat(40)}`);
  try {
    for (const token of tokens) {
      const text = `Open this link:\n\nhttps://muster.example.com/reset-password#token=${token}\n`;
      await transport.sendMail({ from: "a@example.com", to: "b@example.com", text, html: `<p>${token}</p>` });
    }
    expect(smtp.received.map(({ token }) => token)).toEqual(tokens);
  } finally {
    transport.close();
    await smtp.close();
  }
});
