/** Whether a webhook's events, types and patterns such as `device.*`, stand for a type of the catalogue. */
export const isSubscribed = (subscribed: readonly string[], type: string): boolean =>
  subscribed.some((each) => each === type || (each.endsWith("*") && type.startsWith(each.slice(0, -1))));
