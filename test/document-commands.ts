/** A section of a document whose shell blocks, or those of `language`, a test reads from the document and runs. */
export type RunSection = {
  readonly document: string
  readonly section: string
  readonly language?: 'js'
  readonly test: string
}

/** Sections whose blocks a test runs from the text. A block that repeats a part of one counts as run. */
export const runSections: readonly RunSection[] = [
  { document: 'README.md', section: 'First request', test: 'test/standalone/sign-up.test.ts' },
  { document: 'README.md', section: 'Deploy with Helm', test: 'test/e2e/7-operations.test.ts' },
  ...['First key and first request', 'Remove it'].map((section) => ({
    document: 'docs/operate/demo.md',
    section,
    test: 'test/e2e/7-operations.test.ts',
  })),
  ...[
    'Install',
    'First key',
    'Upgrade and roll back',
    'Back up and restore',
    'Rotate secrets',
    'Uninstall',
  ].map((section) => ({
    document: 'docs/operate/operations.md',
    section,
    test: 'test/e2e/7-operations.test.ts',
  })),
  { document: 'docs/operate/kubectl.md', section: 'Walkthrough', test: 'test/operator/with-kubectl.test.ts' },
  {
    document: 'docs/operate/operations.md',
    section: 'First key',
    test: 'test/operator/with-kubectl.test.ts',
  },
  { document: 'docs/operate/tenants.md', section: 'Permissions', test: 'test/operator/tenants.test.ts' },
  { document: 'docs/operate/operator.md', section: 'Uninstall', test: 'test/operator/uninstall.test.ts' },
  { document: 'docs/operate/operator.md', section: 'Versions', test: 'test/operator/upgrade.test.ts' },
  {
    document: 'docs/use/management-api.md',
    section: 'Manage a key',
    test: 'test/cabinet/management-tokens.test.ts',
  },
  { document: 'docs/use/sdks.md', section: 'Node', language: 'js', test: 'test/standalone/sign-up.test.ts' },
  { document: 'docs/use/sign-up.md', section: 'Sign up', test: 'test/standalone/sign-up.test.ts' },
  { document: 'docs/use/top-ups.md', section: 'Pay', test: 'test/standalone/sign-up.test.ts' },
]

const itself = 'it runs this test'
/** Why the calls of an administrator's account are not run. */
const setUp = 'its values are placeholders; test/cabinet/admin-command.test.ts sends the same'
const long = 'it takes minutes'
const placeholders = 'its servers are placeholders'
const python = 'it needs the openai package of Python, which npm ci does not install'

/** First line of other commands → why no test runs them from the text. Of a `npx vitest` command the files are checked. */
export const notRun: Readonly<Record<string, string>> = {
  'client = OpenAI(base_url="http://localhost:8080/v1", api_key=os.environ["KEY"])': python,
  'import os': python,
  'export ANTHROPIC_BASE_URL=http://localhost:8080': 'it starts Claude Code, which npm ci does not install',
  "identity='^https://github.com/model-gateway/model-gateway/.github/workflows/release.yaml@refs/tags/v'":
    'it asks the registry of a published release',
  'docker build --tag registry.example.com/model-gateway:1 .':
    'it pushes to a registry that is a placeholder',
  'docker build --tag model-gateway:1 .': 'it needs Docker and kind; test/e2e/kind.sh runs both commands',
  'npm ci': itself,
  'npm start': 'the start runs until Ctrl-C; test/standalone/start.test.ts starts the same program',
  'npm run check': itself,
  'npm test': itself,
  'npm run test:slow': `${long}; .ci/run runs it`,
  'npm run clients': `${long}; .ci/run runs it`,
  'npm run lock': 'it asks the registry; test/architecture.test.ts checks what it wrote',
  'npm run abuse': `${long}; test/abuse/abuse.test.ts runs the same attacks once`,
  'npm run abuse -- --only nested-json,made-up-keys': long,
  'npm run abuse -- --seconds 10 --turns 5': long,
  'npm run chaos': `${long}; test/chaos/chaos.test.ts runs a short one`,
  'npm run chaos -- --seed 7 --seconds 600': long,
  'npm run chaos -- --requests 1000000': long,
  'npm run chaos -- --cluster': `${long}; test/chaos/chaos-on-cluster.test.ts runs a short one`,
  'npm run bench': long,
  'npm run bench -- --quick --only plain,fast': long,
  'npm run bench -- --before DIR': `${long}, and needs another checkout`,
  'npm run bench -- --prompts --abandoned 200': long,
  'npm run bench -- --client responses --quick --only plainTogether,together,fast': long,
  'npm run bench -- --client responses --adapter openai --quick --only together': long,
  'npm run bench -- --client responses --keep --quick --only plainTogether': long,
  'npm run bench -- --client messages --quick --only plainTogether,together': long,
  'npm run bench -- --histories': long,
  'node test/bench/top-ups.ts --tries 100 --together 1': long,
  'node test/bench/webhook.ts': long,
  'node test/bench/cluster.ts': long,
  'node test/bench/archive.ts --rows 600000': long,
  'node test/bench/books.ts --rows 1000000 --postgres system --statistics none': long,
  'DATABASE_URL=… npm run migrate':
    'the database is a placeholder; test/cabinet/migrate.test.ts runs the program',
  'DATABASE_URL=… npm run seed': 'it takes a quarter of an hour',
  'DATABASE_URL=… npm run seed -- --rows 100000 --organizations 20 --share 0.6 --days 60 --batch 2000': long,
  'DATABASE_URL=… node test/bench/cabinet-api.ts --calls 200 --only usage': `${long}, on a database with many rows`,
  'node standalone/yookassa/main.ts': 'it runs until a signal; test/standalone/yookassa.test.ts starts it',
  'node standalone/demo-provider/main.ts':
    'it runs until a signal; test/standalone/demo-provider.test.ts starts it',
  'DATABASE_URL=postgres://… ADMINISTRATION_URL=https://administration.example npm run admin -- EMAIL':
    'the address is a placeholder; test/cabinet/admin-command.test.ts runs the program',
  'DATABASE_URL=postgres://… npm run admin -- --two-person-rule off':
    'the address is a placeholder; test/cabinet/approvals.test.ts runs the program',
  'npm run shards': `${placeholders}; test/cabinet/shard-moves.test.ts runs the program`,
  'npm run shards -- move 7 redis-4.example.com:6379': placeholders,
  'npm run shards -- empty redis-4.example.com:6379 redis-1.example.com:6379': placeholders,
  'kubectl -n model-gateway port-forward service/model-gateway-administration 3003:80':
    'it runs until a signal; test/charts renders the Service',
  'curl $URL/api/v1/auth/login -H \'Content-Type: application/json\' -d \'{"email": "EMAIL", "password": "PASSWORD", "code": "CODE"}\' -c cookies':
    setUp,
  "kubectl annotate namespace team-a modelgateway.dev/may-offer='openai/*, acme/llama-3'":
    'one annotation; test/operator/route-permissions.test.ts sets the same',
  "select split_part(u.email, '@', 2) as domain, count(*) from users u":
    'the second line of a statement for psql, of an installation with users',
  'npm run release-finalizers -- [--take-over] [NAMESPACE...]':
    'a synopsis; test/operator/release-finalizers.test.ts runs the program',
  'KUBECONFIG=… npm run e2e': 'it needs a cluster that runs pods',
}
