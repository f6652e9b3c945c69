// Instead of deploy/cli/src/offline/export-verifier.ts: the verifiers are built in.
import { exportVerifier } from "../../../services/audit/src/offline/verify-export.ts";
import { verifyParts } from "../../../services/audit/src/offline/verify-parts.ts";

export const loadVerifiers = async () => ({ exportVerifier, verifyParts });
