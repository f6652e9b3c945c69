import type { IncomingMessage, ServerResponse } from "node:http";

/** Pages and files that are served besides the API. */
export type Pages = {
  /** Whether it answers this method and path; a path that it does not answer is the API's. */
  serves(method: string, path: string): boolean;
  handler(request: IncomingMessage, response: ServerResponse): void;
};
