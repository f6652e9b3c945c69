import { describe, expect, it } from "@jest/globals";
import { newPasswordError } from "./password-policy.ts";

const email = "ada.lovelace@engines.example";

describe("a new password", () => {
  it.each([
    "correct horse battery staple",
    "a long enough password",
    "k8$Lq2!vXw9#",
    "xkqvzjwmpfth",
    "9f2b7c1e4a8d",
    "Zq3vT8mK1xW6",
    "8274629184756",
    "lighthouse crumble",
    "Ада и её машина",
    "drei Chinesen mit dem Kontrabass",
    "x".repeat(3) + "Trg7 pinecone".repeat(70),
  ])("may be %s", (password) => {
    expect(newPasswordError(password, email)).toBeNull();
  });

  it.each([
    "short",
    "😀".repeat(11),
    "x".repeat(1_025),
    "ada.lovelace@engines.example",
    " ADA.Lovelace@engines.example ",
    "password1234",
    "Password1234!",
    "P@ssw0rd1234",
    "p4$$w0rd 2026",
    "passwordpassword",
    "password-password",
    "123456789012",
    "asdfghjklzxcvbnm",
    "dragon11111111",
    "qwertyuiop12",
    "1qaz2wsx3edc",
    "administrator",
    "Admin-2026-01",
    "dragon dragon",
    "aaaaaaaaaaaaaa",
    "abababababab",
    "abcabcabcabcabc",
    "abcdefghijklmnop",
    "ponmlkjihgfedcba",
    "890123456789",
    "2025-2026-2027",
    "............!",
    "muster-2026!!",
    "Muster Muster 1",
    "ada.lovelace1815",
    "Lovelace-Ada-1815",
    "engines.example",
    "trustno1trustno1",
    "ｐａｓｓｗｏｒｄ１２３４",
  ])("may not be %s", (password) => {
    expect(newPasswordError(password, email)).not.toBeNull();
  });

  it.each([
    ["evedragonpassword", "eve@engines.example", false],
    ["evepassword1!", "eve@engines.example", true],
    ["alpassword12!", "al@engines.example", false],
  ])("%s of %s is common: %p (a mailbox of three letters is taken out of it)", (password, address, isCommon) => {
    expect(newPasswordError(password, address) !== null).toBe(isCommon);
  });
});
