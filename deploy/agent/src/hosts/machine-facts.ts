import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { arch, hostname, version as osVersion, release } from "node:os";
import type { AgentIdentity } from "@muster/agent";
import { readStored } from "../durable.ts";

type Facts = Pick<AgentIdentity, "hostname" | "os" | "arch" | "libc" | "hardwareId" | "serialNumber">;

/** What the installer, as root, has read for an agent that cannot. */
type Machine = { hardwareId?: string; serialNumber?: string };

const architectures: Record<string, AgentIdentity["arch"]> = { x64: "amd64", arm64: "arm64", ia32: "386" };
const systems: Record<string, AgentIdentity["os"]> = { linux: "linux", darwin: "darwin", win32: "windows" };

/** Serial numbers that many machines have. */
const placeholders =
  /^(|0+|1234567890?|none|n\/a|default string|not specified|to be filled.*|system serial number|invalid)$/i;

export const isPlaceholder = (serial: string): boolean => placeholders.test(serial.trim());

/** Who this machine is. Its own id never leaves it: it is hashed. */
export function machineFacts(machineFile: string): Facts {
  const hardwareId = hashedId(machineId());
  const read = readStored<Machine>(machineFile) ?? {};
  // A file of another machine, of which this one is a copy.
  const stored = hardwareId !== "" && read.hardwareId !== hardwareId ? {} : read;
  const serial = stored.serialNumber ?? serialNumber();
  return {
    hostname: hostname().slice(0, 255) || "localhost",
    os: systems[process.platform] ?? "linux",
    arch: architectures[arch()] ?? "amd64",
    ...(process.platform === "linux" ? { libc: libcIn(firstText("/proc/self/maps")) } : {}),
    hardwareId: stored.hardwareId ?? hardwareId,
    serialNumber: isPlaceholder(serial) ? "" : serial.trim().slice(0, 255),
  };
}

/** The C library that this program runs on, by what is mapped into it: its updates need the same one. */
export const libcIn = (maps: string): "gnu" | "musl" => (maps.includes("/ld-musl-") ? "musl" : "gnu");

/** Labels of an enrollment: what changes with an upgrade of the system alone. */
export function systemLabels(): Record<string, string> {
  const name = process.platform === "linux" ? prettyName() : osVersion();
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return { "os.name": name.slice(0, 255), "os.kernel": release().slice(0, 255), timezone: timeZone };
}

/** Empty for a machine without an id: each enrollment makes a device of its own then. */
export const hashedId = (id: string): string =>
  id === "" ? "" : createHash("sha256").update("muster-agent hardware id\n").update(id).digest("hex");

function machineId(): string {
  if (process.platform === "linux") return firstText("/etc/machine-id", "/var/lib/dbus/machine-id");
  if (process.platform === "darwin")
    return between(output("ioreg", ["-rd1", "-c", "IOPlatformExpertDevice"]), "IOPlatformUUID");
  const key = "HKLM\\SOFTWARE\\Microsoft\\Cryptography";
  return /MachineGuid\s+REG_SZ\s+(\S+)/.exec(output("reg", ["query", key, "/v", "MachineGuid"]))?.[1] ?? "";
}

function serialNumber(): string {
  if (process.platform === "linux") return firstText("/sys/class/dmi/id/product_serial");
  if (process.platform === "darwin") {
    return between(output("ioreg", ["-rd1", "-c", "IOPlatformExpertDevice"]), "IOPlatformSerialNumber");
  }
  return output("powershell", ["-NoProfile", "-Command", "(Get-CimInstance Win32_BIOS).SerialNumber"]).trim();
}

/** Value of a property as ioreg prints it: `"IOPlatformUUID" = "…"`. */
export const between = (text: string, name: string): string =>
  new RegExp(`"${name}" = "([^"]*)"`).exec(text)?.[1] ?? "";

function prettyName(): string {
  return /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(firstText("/etc/os-release", "/usr/lib/os-release"))?.[1] ?? "Linux";
}

function firstText(...paths: string[]): string {
  for (const path of paths) {
    try {
      return readFileSync(path, "utf8").trim();
    } catch {
      // Not on this system, or not for this user.
    }
  }
  return "";
}

function output(program: string, args: string[]): string {
  try {
    return execFileSync(program, args, { encoding: "utf8", timeout: 10_000, stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return "";
  }
}
