/** Whether a text is an address of a machine, IPv4 or IPv6, as a device reports its own. */
export const isAddress = (text: string): boolean =>
  /^(\d{1,3}\.){3}\d{1,3}$/.test(text) || (/^[0-9a-f:.]+$/i.test(text) && text.split(":").length > 2);
