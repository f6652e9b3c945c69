// Instead of deploy/cli/src/offline/export-verifier.ts: the verifier is built in.
import { exportVerifier } from "../../../services/audit/src/offline/verify-export.ts";

export const loadVerifier = async () => exportVerifier;
