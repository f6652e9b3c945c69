import { spawn } from "node:child_process";
import { platform } from "node:os";

type Env = Readonly<Record<string, string | undefined>>;

/** The program that opens an address, and its arguments before it; null where there is no browser to expect. */
export function browserOf(env: Env, system: string): readonly string[] | null {
  if (env.BROWSER) return [env.BROWSER];
  // What would open is on the machine where the session is, not before the user.
  if (env.SSH_CONNECTION) return null;
  if (system === "darwin") return ["open"];
  if (system === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ["xdg-open"] : null;
}

/** Opens a web address in the user's browser; false when there is none. Whether a page appeared is not known. */
export function openBrowser(env: Env, address: string): boolean {
  const [program, ...args] = browserOf(env, platform()) ?? [];
  // The address comes from the deployment: nothing but a web page is opened.
  if (!program || !URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) return false;
  const child = spawn(program, [...args, new URL(address).href], { stdio: "ignore", detached: true, env: { ...env } });
  child.on("error", () => undefined);
  child.unref();
  return true;
}
