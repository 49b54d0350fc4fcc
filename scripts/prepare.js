// Makes a fresh clone ready to run: npm packages, redis-server, Java; with --corpus also what makes and reads the documents of test/long/pdf-corpus. Plain JavaScript with no dependencies, because it
// runs before anything is installed, on whatever Node (20 or later) the machine has. Says nothing when nothing is to do.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const projectDir = dirname(dirname(fileURLToPath(import.meta.url)));

// `names` are package names for each package manager; `probe` proves that the program on PATH is more than a stub.
const programs = [
  { command: 'redis-server', probe: '--version', apt: 'redis-server', brew: 'redis', dnf: 'redis' },
  {
    command: 'java',
    probe: '-version',
    apt: 'default-jre-headless',
    brew: 'openjdk',
    dnf: 'java-latest-openjdk-headless',
  },
];

const corpus = [
  { command: 'pdftotext', probe: '-v', apt: 'poppler-utils', brew: 'poppler', dnf: 'poppler-utils' },
  { command: 'gs', probe: '--version', apt: 'ghostscript', brew: 'ghostscript', dnf: 'ghostscript' },
  { command: 'qpdf', probe: '--version', apt: 'qpdf', brew: 'qpdf', dnf: 'qpdf' },
  { command: 'img2pdf', probe: '--version', apt: 'img2pdf', brew: 'img2pdf', dnf: 'img2pdf' },
  { command: 'enscript', probe: '--version', apt: 'enscript', brew: 'enscript', dnf: 'enscript' },
  { command: 'groff', probe: '--version', apt: 'groff', brew: 'groff', dnf: 'groff' },
  { command: 'pango-view', probe: '--version', apt: 'pango1.0-tools', brew: 'pango', dnf: 'pango-tools' },
  { command: 'wkhtmltopdf', probe: '--version', apt: 'wkhtmltopdf', brew: 'wkhtmltopdf', dnf: 'wkhtmltopdf' },
  { command: 'pdflatex', probe: '--version', apt: 'texlive-latex-base', brew: 'texlive', dnf: 'texlive-latex' },
];
if (process.argv.includes('--corpus')) programs.push(...corpus);

installPackages();
installPrograms();

function installPackages() {
  if (packagesAreCurrent()) return;
  say('installing npm packages (npm ci)');
  const npm = process.env.npm_execpath;
  // npm's own lifecycle variables would make the inner npm think it is run by the script it prepares.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(lifecycle|package|command)/.test(name)),
  );
  const result =
    npm && existsSync(npm)
      ? run(process.execPath, [npm, 'ci', '--no-audit', '--no-fund'], env)
      : run('npm', ['ci', '--no-audit', '--no-fund'], env);
  if (result.status !== 0) fail('npm ci failed; its own words are above');
}

// npm writes node_modules/.package-lock.json last, so a file newer than the lock means a finished install. A checkout
// can touch the lock without changing it, hence the look inside before a reinstall.
function packagesAreCurrent() {
  const lock = join(projectDir, 'package-lock.json');
  const installed = join(projectDir, 'node_modules', '.package-lock.json');
  if (!existsSync(installed)) return false;
  if (statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return true;
  const wanted = JSON.parse(readFileSync(lock, 'utf8')).packages;
  const found = JSON.parse(readFileSync(installed, 'utf8')).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    return found[path] === undefined ? entry.optional === true : found[path].version === entry.version;
  });
}

function installPrograms() {
  const missing = programs.filter((program) => !isUsable(program));
  if (missing.length === 0) return;
  const names = missing.map((program) => program.command).join(' and ');
  const isRoot = process.getuid?.() === 0;
  if (isRoot && existsSync('/etc/debian_version') && onPath('apt-get')) {
    aptInstall(
      missing.map((program) => program.apt),
      names,
    );
    const still = missing.filter((program) => !isUsable(program));
    if (still.length > 0) fail(`${still.map((program) => program.command).join(' and ')} still missing after apt-get`);
    return;
  }
  fail(`${names} missing. Type: ${installCommand(missing)}`);
}

function installCommand(missing) {
  if (onPath('apt-get')) {
    const packages = missing.map((program) => program.apt).join(' ');
    return `sudo apt-get update && sudo apt-get install -y --no-install-recommends ${packages}`;
  }
  if (onPath('dnf')) return `sudo dnf install -y ${missing.map((program) => program.dnf).join(' ')}`;
  if (process.platform === 'darwin' || onPath('brew')) {
    return `brew install ${missing.map((program) => program.brew).join(' ')}`;
  }
  return `install ${missing.map((program) => program.command).join(' and ')} so that they are on PATH`;
}

// The Debian package starts a redis service of its own, which nobody asked for. Masking the unit (systemd) and
// RUNLEVEL=1 (init scripts) keep it from starting; unmasked afterwards, it stays disabled.
function aptInstall(packages, names) {
  say(`installing ${names} (apt-get install ${packages.join(' ')})`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const masks = packages.includes('redis-server') && existsSync('/run/systemd/system');
  if (masks) spawnSync('systemctl', ['mask', 'redis-server.service'], { stdio: 'ignore' });
  const updated = run('apt-get', ['update', '-qq'], env);
  const result = run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], env);
  if (masks) {
    spawnSync('systemctl', ['unmask', 'redis-server.service'], { stdio: 'ignore' });
    spawnSync('systemctl', ['disable', 'redis-server.service'], { stdio: 'ignore' });
  }
  if (result.status === 0) return;
  process.stderr.write(`${updated.stderr}${result.stderr}`);
  fail(`apt-get could not install ${packages.join(' ')}; its own words are above`);
}

function run(command, args, env) {
  return spawnSync(command, args, {
    cwd: projectDir,
    env,
    stdio: command === 'apt-get' ? ['ignore', 'ignore', 'pipe'] : 'inherit',
    encoding: 'utf8',
  });
}

// macOS has a `java` that only says where to get Java, so there the program is run once; elsewhere a look is enough.
function isUsable({ command, probe }) {
  if (!onPath(command)) return false;
  return process.platform !== 'darwin' || spawnSync(command, [probe], { stdio: 'ignore' }).status === 0;
}

function onPath(command) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function say(line) {
  process.stdout.write(`prepare: ${line}\n`);
}

function fail(line) {
  process.stderr.write(`prepare: ${line}\n`);
  process.exit(1);
}
