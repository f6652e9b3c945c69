/** The operations that are used most often, by name, in the order in which the command menu has them. */
const common = ["device.add", "user.make", "webhook.make", "key.make", "rollout.make", "sign-in-policy.change"];

/** The operations that are offered before anything is typed, the most useful first. */
export const firstOffered = <O extends { id: string }>(operations: readonly O[]): O[] =>
  common.flatMap((id) => operations.find((each) => each.id === id) ?? []);
