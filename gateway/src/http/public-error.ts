import { AppError } from "@muster/kit";
import { toAppError } from "@muster/rpc";
import { EdgeError, unavailable } from "../errors.ts";

/** What a handler's failure means outside. */
export function publicError(thrown: unknown): AppError | EdgeError {
  if (thrown instanceof EdgeError) return thrown;
  const error = toAppError(thrown);
  // A service that refuses our own caller token is an internal failure: the client's session is fine, and must not be
  // thrown away.
  if (thrown instanceof AppError || error.code !== "unauthenticated") return error;
  return unavailable(error);
}
