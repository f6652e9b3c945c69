/** Values of the checked boxes of that name. The boxes offer what the API lists: `T` is the API's list. */
export const checkedOf = <T extends string>(form: FormData, name: string): T[] => form.getAll(name).map(String) as T[];
