const name = "muster.signed-in";

// Whether there may be a session cookie, which no script can read: saves a first visit the request that would be
// refused.
export const maySessionExist = () => localStorage.getItem(name) !== null;
export const noteSession = () => localStorage.setItem(name, "1");
export const noteNoSession = () => localStorage.removeItem(name);
