import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { generateSync } from 'otplib'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Visitor, visitorOf } from '../support/cabinet.ts'
import { inheritedEnvironment } from '../support/environment.ts'
import { folderOfThisTest } from '../support/folder.ts'
import { blocksOfSection, shellBlocksOf } from '../support/readme-commands.ts'
import { launch, startStandalone } from '../support/standalone.ts'

const administration = '/admin/users'

test('the commands of the documents sign up, call a model and pay, and the seeded users sign in as npm start prints', async () => {
  const dataDir = folderOfThisTest('sign-up')
  const first = await startWithBanner(dataDir)
  const banner = first.banner
  const [, cabinetUrl = ''] = /^ {2}cabinet {9}(\S+)$/m.exec(banner) ?? []
  const [, baseUrl = ''] = /^ {2}base URL {8}(\S+)$/m.exec(banner) ?? []

  expect((await fetch(`${cabinetUrl}/api/v1/openapi.json`)).status).toBe(200)
  const [, user = '', password = ''] = /^ {2}owner +(\S+) +(\S+)$/m.exec(banner) ?? []
  const owner = visitorOf(cabinetUrl)
  expect((await owner.post('/auth/login', { email: user, password })).body).toEqual({ mfa: null })
  expect((await owner.get('/me')).body).toMatchObject({ organization: { name: 'demo' } })
  expect((await owner.get('/balance')).body.balance_rub).toBe('1000')

  const [, admin = '', adminPassword = ''] = /^ {2}administrator (\S+) +(\S+)$/m.exec(banner) ?? []
  const [, uri = '', code = ''] = /^ {2}second factor (\S+) \(code now: (\d{6})\)$/m.exec(banner) ?? []
  const [, administrationUrl = ''] = /^ {2}administration {2}(\S+)$/m.exec(banner) ?? []
  const administrator = visitorOf(administrationUrl)
  const credentials = { email: admin, password: adminPassword }
  expect((await administrator.post('/auth/login', credentials)).status).toBe(422) // a code is missing
  expect((await administrator.get(administration)).status).toBe(401)
  expect((await administrator.post('/auth/login', { ...credentials, code })).status).toBe(204)
  expect((await administrator.get(administration)).status).toBe(200)
  expect((await owner.get(administration)).status).toBe(404)

  const [, tryIt = ''] = /Try it:\n\n(.+?)\n\n/s.exec(banner) ?? []
  const inFolder = shellIn(folderOfThisTest('sign-up-cookies'))
  expect(await inFolder(tryIt)).toContain('"content":"Hello"')

  const here = (text: string) =>
    text
      .replaceAll('http://localhost:3000', cabinetUrl)
      .replaceAll('http://localhost:8080', new URL(baseUrl).origin)
  const [, KEY = ''] = /^ {2}API key +(\S+)$/m.exec(banner) ?? []
  const withKey = shellIn(join(import.meta.dirname, '../..'), { KEY })
  const [call = ''] = shellBlocksOf('First request').map(here)
  expect(await withKey(call)).toContain('"content":"Hello"')
  const [node = ''] = blocksOfSection('Node', 'docs/use/sdks.md', 'js').map(here)
  expect(await withKey(`node --input-type=module --eval '${node.replaceAll("'", `'"'"'`)}'`)).toContain(
    'Hello',
  )

  const [register = '', ...further] = shellBlocksOf('Sign up', 'docs/use/sign-up.md').map(here)
  const inRepository = shellIn(join(import.meta.dirname, '../..'))
  expect(await inRepository(register)).toBe('{"status":"verification_sent"}')
  await vi.waitFor(async () => {
    const letters = await (await fetch(`${cabinetUrl}/dev/mailbox.json`)).json()
    expect(letters).toMatchObject([{ to: 'me@example.com' }])
  })
  const said = await inFolder(further.join('\n'))
  for (const part of ['{"mfa":null}', 'sk-gateway-', '"content":"Hello"', '"available_rub":"29.99996"'])
    expect(said).toContain(part)

  const [payBlock = '', balanceBlock = ''] = shellBlocksOf('Pay', 'docs/use/top-ups.md').map(here)
  expect(await inFolder(payBlock)).toContain('"status":"pending"')
  await vi.waitFor(async () => expect(await inFolder(balanceBlock)).toContain('"available_rub":"1179.99996"'))

  await changePassword(owner, password)
  expect(await first.stop()).toBe(0)
  const second = await startStandalone({ DATA_DIR: dataDir })
  onTestFinished(second.kill)
  const adminTotp = new URL(uri).searchParams.get('secret') ?? ''
  expect(second.cabinet).toEqual({ user, password: null, admin, adminPassword, adminTotp })
  const again = visitorOf(second.administrationUrl)
  const next = generateSync({ secret: adminTotp, epoch: Math.floor(Date.now() / 1000) + 30 })
  expect((await again.post('/auth/login', { ...credentials, code: next })).status).toBe(204)
  expect(await second.stop()).toBe(0)
}, 90_000)

async function changePassword(owner: Visitor, current_password: string): Promise<void> {
  const change = { current_password, new_password: 'another one, of my own' }
  expect((await owner.post('/auth/password/change', change)).status).toBe(204)
}

/** `npm start` as people see it. */
async function startWithBanner(dataDir: string) {
  const child = launch('standalone/main.ts', { DATA_DIR: dataDir })
  onTestFinished(() => void child.kill('SIGKILL'))
  let banner = ''
  let said = ''
  child.stdout.on('data', (chunk) => (banner += String(chunk)))
  child.stderr.on('data', (chunk) => (said += String(chunk)))
  await vi.waitFor(() => expect(banner, said).toContain('Ctrl-C'), { timeout: 40_000, interval: 50 })
  return {
    banner,
    async stop() {
      const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
      child.kill('SIGINT')
      return exited
    },
  }
}

/** Runs commands and returns their output. */
function shellIn(cwd: string, variables: Readonly<Record<string, string>> = {}) {
  return async (commands: string) => {
    const run = promisify(execFile)
    const { stdout } = await run('bash', ['-euc', commands], {
      cwd,
      env: { ...inheritedEnvironment, ...variables },
    })
    return stdout
  }
}
