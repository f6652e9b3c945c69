import { SearchCheck } from "lucide-react";
import type { Operation } from "./record-operation.ts";

/** The next step of a record that fails: to look at the page that says why. It changes nothing. */
export const review = <R>(of: Required<Pick<Operation<R>, "id" | "needs" | "isNext" | "leads">>): Operation<R> => ({
  verb: "Review",
  icon: SearchCheck,
  forgets: [],
  ...of,
});
