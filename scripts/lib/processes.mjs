// Starting and ending child processes so that nothing is left over.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";

/** Soft and hard limit of open files of this process, as text. */
export function openFilesLimit() {
  const [soft, hard] = execFileSync("/bin/sh", ["-c", "ulimit -n; ulimit -Hn"], { encoding: "utf8" }).trim().split("\n");
  return { soft, hard };
}

/** Objects hold some three files each: below this a burst of new keys ends workerd. Returns a warning or undefined. */
export function openFilesWarning() {
  // Node raises its own soft limit to the hard one at its start, and its children inherit that.
  const { soft } = openFilesLimit();
  if (soft === "unlimited" || Number(soft) >= 8192) return undefined;
  const keys = Math.floor(Number(soft) / 3);
  return `only ${soft} open files are allowed (the hard limit): a burst of some ${keys} new keys can end workerd. ` +
    "Raise it as root (ulimit -Hn 65536 before starting, or /etc/security/limits.conf).";
}

/**
 * Starts a child in our own process group (so that a kill of the group takes everything) and, where Linux can do it,
 * makes the kernel end it when we are killed ourselves.
 */
export function start(command, args, options) {
  const guarded = process.platform === "linux" && hasSetpriv();
  return guarded
    ? spawn("setpriv", ["--pdeathsig", "KILL", command, ...args], options)
    : spawn(command, args, options);
}

let setpriv;
function hasSetpriv() {
  if (setpriv === undefined) {
    try {
      execFileSync("setpriv", ["--version"], { stdio: "ignore" });
      setpriv = true;
    } catch {
      setpriv = false;
    }
  }
  return setpriv;
}

/** [pid, parent] of every process that still runs (a zombie doesn't). */
function processTable() {
  if (existsSync("/proc/self/stat")) {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap(readProcStat);
  }
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" }).trim().split("\n");
  return lines.map((line) => line.trim().split(/\s+/)).filter(([, , state]) => !state.startsWith("Z"))
    .map(([pid, parent]) => [Number(pid), Number(parent)]);
}

function readProcStat(name) {
  try {
    const text = readFileSync(`/proc/${name}/stat`, "utf8");
    const [state, parent] = text.slice(text.lastIndexOf(")") + 2).split(" "); // the command may hold spaces
    return state === "Z" ? [] : [[Number(name), Number(parent)]];
  } catch {
    return []; // ended meanwhile
  }
}

/** All living descendants of a process, nearest first. */
export function descendants(pid) {
  const table = processTable();
  const found = [];
  for (const queue = [pid]; queue.length > 0; ) {
    const parent = queue.shift();
    const next = table.filter(([, of]) => of === parent).map(([child]) => child);
    found.push(...next);
    queue.push(...next);
  }
  return found;
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/** Asks all descendants of this process to end, and kills those that haven't after `graceMs`. */
export async function endAll(graceMs) {
  const pids = descendants(process.pid);
  for (const pid of pids) signal(pid, "SIGTERM");
  const deadline = performance.now() + graceMs;
  const left = () => {
    const running = new Set(processTable().map(([pid]) => pid));
    return pids.filter((pid) => running.has(pid));
  };
  while (left().length > 0 && performance.now() < deadline) await sleep(25);
  for (const pid of left()) signal(pid, "SIGKILL");
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
