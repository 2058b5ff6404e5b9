import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { installDebianPackages } from './debian-package.ts'

/** Builds images without a daemon, with Debian's buildah. It must run as root. */
export type ImageBuilder = {
  /** Builds the Dockerfile of this checkout. @throws Error with the builder's output. */
  build(): Promise<void>
  /**
   * Runs `node` with these parameters in a container of the image, as the image's user and with the host's network.
   * After 10 s it is ended, and its code is 124.
   */
  node(...parameters: readonly string[]): Promise<{ readonly code: number; readonly output: string }>
  remove(): Promise<void>
}

const root = join(import.meta.dirname, '../..')
const baseImage = 'docker.io/library/node:24-bookworm-slim'
const image = 'model-gateway:test'
const container = 'model-gateway-test'
const timeoutMs = 600_000
const outputBytesMax = 16_777_216

/**
 * No registry of images is needed: the base image is made from Debian's packages, this checkout's Node and the npm that
 * installed it.
 *
 * @throws Error saying what to install.
 */
export async function openImageBuilder(): Promise<ImageBuilder> {
  await installPrograms()
  const folder = await mkdtemp(join(tmpdir(), 'mg-image-'))
  const buildah = (...parameters: readonly string[]) =>
    run('buildah', ['--root', join(folder, 'images'), '--runroot', join(folder, 'run'), ...parameters])
  await makeBaseImage(folder, buildah)
  return {
    async build() {
      await buildah('build', '--pull-never', '--tag', image, root)
      await buildah('from', '--pull-never', '--name', container, `localhost/${image}`)
    },
    async node(...parameters) {
      try {
        return {
          code: 0,
          output: await buildah('run', container, '--', 'timeout', '10', 'node', ...parameters),
        }
      } catch (error) {
        const { code = -1, stdout = '', stderr = '' } = error as Failure
        return { code, output: stdout + stderr }
      }
    },
    async remove() {
      await buildah('rm', '--all')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

type Failure = { readonly code?: number; readonly stdout?: string; readonly stderr?: string }

async function run(program: string, parameters: readonly string[]): Promise<string> {
  // `chroot`: a container may run where the kernel gives no new namespaces.
  const env = { ...process.env, BUILDAH_ISOLATION: 'chroot', STORAGE_DRIVER: 'overlay' }
  const options = { env, timeout: timeoutMs, maxBuffer: outputBytesMax }
  const running = promisify(execFile)(program, [...parameters], options)
  running.child.stdin?.end() // a container reads to its end
  const { stdout, stderr } = await running
  return stdout + stderr
}

async function installPrograms(): Promise<void> {
  try {
    await run('buildah', ['--version']).catch(async () => {
      await installDebianPackages('buildah', 'debootstrap')
    })
  } catch (cause) {
    throw new Error('Building the image needs root, and buildah and debootstrap of Debian.', { cause })
  }
}

async function makeBaseImage(
  folder: string,
  buildah: (...parameters: readonly string[]) => Promise<string>,
): Promise<void> {
  const system = join(folder, 'system')
  await run('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', system])
  const local = join(system, 'usr/local')
  const npm = await findNpm()
  await mkdir(join(local, 'lib/node_modules'), { recursive: true })
  await cp(process.execPath, join(local, 'bin/node'))
  await cp(npm, join(local, 'lib/node_modules/npm'), { recursive: true })
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'))
  // A machine behind a proxy has its own certificate.
  const certificates = 'etc/ssl/certs/ca-certificates.crt'
  await writeFile(join(system, certificates), await readFile(join('/', certificates)))
  await run('tar', ['-C', system, '-cf', join(folder, 'system.tar'), '.'])
  await rm(system, { recursive: true })
  const lines = [
    'FROM scratch',
    'ADD system.tar /',
    `ENV NODE_EXTRA_CA_CERTS=/${certificates}`,
    `ENV PATH=${path}`,
  ]
  await writeFile(join(folder, 'Dockerfile'), `${lines.join('\n')}\n`)
  await buildah('build', '--quiet', '--tag', baseImage, folder)
}

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The folder of the npm in PATH. */
async function findNpm(): Promise<string> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const found = await realpath(join(folder, 'npm')).catch(() => undefined)
    if (found?.endsWith('/bin/npm-cli.js')) return join(found, '../..')
  }
  throw new Error('npm is not in PATH')
}
