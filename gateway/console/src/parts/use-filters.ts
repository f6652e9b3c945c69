import { useNavigate, useSearch } from "@tanstack/react-router";

export type Filters = Readonly<Record<string, string | undefined>>;

/** The filters of a list: the search parameters of the address, with the API's names. */
export function useFilters(): [Filters, (change: Record<string, string | undefined>) => void] {
  const filters = useSearch({ strict: false }) as Filters;
  const navigate = useNavigate();
  const change = (wanted: Record<string, string | undefined>) => {
    void navigate({ to: ".", search: { ...filters, ...wanted } as never, replace: true });
  };
  return [filters, change];
}

/** The filters of these names: an address may hold others, which the API refuses. */
export function pickFilters<Name extends string>(filters: Filters, names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, filters[name]])) as { [Each in Name]?: string | undefined };
}
