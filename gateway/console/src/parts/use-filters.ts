import { useNavigate, useParams, useSearch } from "@tanstack/react-router";

export type Filters = Readonly<Record<string, string | undefined>>;

/**
 * Search parameters of a link or a navigation: every page reads the filters that it knows. The router has no type for
 * them, since no page declares its own.
 */
export const searchFor = (filters: Filters): never => filters as never;

/** The id in the path of a record's page. Throws on a page without one. */
export function useRecordId(): string {
  const { id }: { id?: string } = useParams({ strict: false });
  if (id === undefined) throw new Error("this page has no record");
  return id;
}

/** The filters of a list: the search parameters of the address, with the API's names. */
export function useFilters(): [Filters, (change: Record<string, string | undefined>) => void] {
  const filters = useSearch({ strict: false }) as Filters;
  const navigate = useNavigate();
  const change = (wanted: Record<string, string | undefined>) => {
    void navigate({ to: ".", search: searchFor({ ...filters, ...wanted }), replace: true });
  };
  return [filters, change];
}

/** The filters of these names: an address may hold others, which the API refuses. */
export function pickFilters<Name extends string>(filters: Filters, names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, filters[name]])) as { [Each in Name]?: string | undefined };
}
