import { AppError } from "@muster/kit";

/** The device, or the way to it, failed: `device_error`. */
export function deviceError(publicMessage: string, cause?: unknown): AppError {
  return new AppError("device_error", publicMessage, { cause });
}
