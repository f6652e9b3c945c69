import { rootRouteId, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { RecordPagePath } from "./links.ts";

export type Filters = Readonly<Record<string, string | undefined>>;

/** The id in the path of a record's page. */
export const useRecordId = (page: RecordPagePath): string => useParams({ from: page }).id;

/** The filters of a list: the search parameters of the address, with the API's names. */
export function useFilters(): [Filters, (change: Record<string, string | undefined>) => void] {
  const filters = useSearch({ from: rootRouteId });
  const navigate = useNavigate();
  const change = (wanted: Record<string, string | undefined>) => {
    void navigate({ to: ".", search: { ...filters, ...wanted }, replace: true });
  };
  return [filters, change];
}

/** The filters of these names: an address may hold others, which the API refuses. */
export function pickFilters<Name extends string>(filters: Filters, names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, filters[name]])) as { [Each in Name]?: string | undefined };
}
