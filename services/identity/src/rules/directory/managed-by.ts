import { AppError } from "@muster/kit";

/** 403: the next cycle of the directory would undo the change. */
export function managedBy({ id, name }: { id: string; name: string }): AppError {
  const facts = { directoryId: id };
  return new AppError("managed_by_directory", `The user is managed by the directory ${name}`, { facts });
}
