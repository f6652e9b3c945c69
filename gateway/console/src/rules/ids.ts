const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text is an id of a record, as all of the API are. */
export const isId = (text: string): boolean => uuid.test(text);

/** Whether the id of an audit row is that of a record: rows about none have zeros. */
export const isRecordId = (id: string | null): id is string => id !== null && isId(id) && !/^[0-]+$/.test(id);
