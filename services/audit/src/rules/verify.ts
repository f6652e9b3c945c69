export { type Finding, isProblem, isUnverified, type Verdict, verdicts } from "./finding.ts";
export { endVerification } from "./verify-end.ts";
export { type KeptNote, type Trust, takeCheckpoints, takeReceipts, unsigned } from "./verify-notes.ts";
export { takeRow } from "./verify-rows.ts";
export { newVerification, type Verification } from "./verify-state.ts";
