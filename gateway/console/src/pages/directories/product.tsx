import { useGet } from "../../api/queries.ts";

/** The name of a preset's product; undefined without one. */
export function useProductName(preset: string | null): string | undefined {
  const presets = useGet("/api/v1/directories/presets");
  return presets.data?.data.find(({ id }) => id === preset)?.name;
}

/** The product that a directory is, by the name of its preset. */
export const Product = ({ of }: { of: string | null }) => useProductName(of) ?? "SCIM 2.0";
