import { useGet } from "../../api/queries.ts";

/** The product that a directory is, by the name of its preset. */
export function Product({ of }: { of: string | null }) {
  const presets = useGet("/api/v1/directories/presets");
  return presets.data?.data.find(({ id }) => id === of)?.name ?? "SCIM 2.0";
}
