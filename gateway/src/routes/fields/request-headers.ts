import { maxRequestHeaderLength, maxRequestHeaders, requestHeaderKey, requestHeaderText } from "@muster/kit";
import { z } from "zod";

/** Headers that users want on requests to their receivers; the service behind refuses reserved and repeated ones. */
export const requestHeadersIn = z
  .array(
    z.object({
      key: z.string().regex(requestHeaderKey, "Not a header name"),
      value: z
        .string()
        .max(maxRequestHeaderLength)
        .regex(requestHeaderText, `At most ${maxRequestHeaderLength.toLocaleString("en")} ASCII characters`),
    }),
  )
  .max(maxRequestHeaders);
