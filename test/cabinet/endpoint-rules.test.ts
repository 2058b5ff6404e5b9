import { randomBytes, randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Right, TokenScope } from '#cabinet/api/access'
import type { Contract } from '#cabinet/api/contract'
import { shippedTexts } from '#cabinet/legal/internal/shipped-texts'
import { sealTotpSecret } from '#cabinet/people/totp-code'
import { insertKey, revokeKey } from '#core/keys/key-store'
import { postBatch } from '#core/ledger/post-batch'
import { createModel, createProvider } from '../support/catalog.ts'
import { createCustomer, entryOf } from '../support/customer.ts'
import { insertManagementToken } from '../support/management-token.ts'
import { rowsOfOrganization } from '../support/organization-rows.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { secrets } from '../support/processes.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { administrationUrl, appUrl } from '../support/web-settings.ts'
import { wholeCabinetOfThisFile } from '../support/whole-cabinet.ts'

/**
 * The answer of each endpoint to each caller. The endpoints are those of the route table. The expected answer follows from
 * their access rule and from the two tables below, which are independent of the code that decides.
 */
const database = await databaseOfThisFile()
const { pool } = database
const { app, administration, ...cabinet } = wholeCabinetOfThisFile(database)
const contracts = [...cabinet.contracts, ...administration.contracts]
const isOfAdministration = (operation: string) =>
  administration.contracts.some((contract) => contract.operation === operation)

const callers = [
  'nobody',
  'half signed in',
  'unconfirmed',
  'owner elsewhere',
  'developer',
  'accountant',
  'developer here, owner elsewhere',
  'member of two who names none',
  'former member',
  'owner',
  'owner with TOTP',
  'administrator of an hour ago',
  'administrator',
  'token for keys',
  'token for usage',
  'token for billing',
  'token elsewhere',
  'revoked token',
  'expired token',
] as const
type CallerName = (typeof callers)[number]

/** The permissions of each role, as documented in the README of the cabinet. */
const rightsOf: Readonly<Record<'owner' | 'developer' | 'accountant', readonly Right[]>> = {
  owner: [
    'keys.read',
    'keys.write',
    'usage.read',
    'billing.read',
    'billing.write',
    'organization.read',
    'organization.write',
    'team.write',
    'tokens.write',
  ],
  developer: ['keys.read', 'keys.write', 'usage.read', 'organization.read'],
  accountant: ['usage.read', 'billing.read', 'billing.write', 'organization.read'],
}

/** The operations of each scope, as documented for management tokens. */
const operationsOf: Readonly<Record<TokenScope, readonly string[]>> = {
  keys: [
    'listKeys',
    'readKey',
    'createKey',
    'changeKey',
    'blockKey',
    'unblockKey',
    'rotateKey',
    'revokeKey',
    'readEffectiveLimits',
    'listKeyRefusals',
    'listRefusals',
    'listRevokedKeys',
    'readRevokedKey',
  ],
  usage: [
    'getUsage',
    'exportUsage',
    'getSpending',
    'listActivity',
    'countRejections',
    'listRequests',
    'exportRequests',
    'getRequest',
    'getRefusal',
  ],
  billing: ['getBalance', 'listLedger', 'exportLedger', 'listBonuses', 'listPayments', 'readPayment'],
}

const scopesOf: Partial<Readonly<Record<CallerName, readonly TokenScope[]>>> = {
  'token for keys': ['keys'],
  'token for usage': ['usage'],
  'token for billing': ['billing'],
  'token elsewhere': ['keys', 'usage', 'billing'],
  'revoked token': ['keys', 'usage', 'billing'],
  'expired token': ['keys', 'usage', 'billing'],
}

/** Why an endpoint is not for a token; `undefined`: it is. Administration reads no tokens. */
function refusalOfToken(
  { access, operation }: Asked,
  caller: CallerName,
  scopes: readonly TokenScope[],
): string | undefined {
  if (access.to === 'administrator' || isOfAdministration(operation)) return '401 unauthenticated'
  if (caller === 'revoked token' || caller === 'expired token') return '401 invalid_management_token'
  const needed = Object.entries(operationsOf).find(([, operations]) => operations.includes(operation))
  if (needed === undefined) return '403 not_for_tokens'
  return scopes.some((scope) => scope === needed[0]) ? undefined : '403 token_scope_required'
}

type Asked = Pick<Contract, 'access' | 'operation'>

/** Why an endpoint is not for a caller; `undefined`: it is. */
function refusalOf(contract: Asked, caller: CallerName): string | undefined {
  const { access } = contract
  if (access.to === 'anyone') return undefined
  const scopes = scopesOf[caller]
  if (scopes !== undefined) return refusalOfToken(contract, caller, scopes)
  if (access.to === 'half_signed_in') return caller === 'half signed in' ? undefined : '401 unauthenticated'
  if (caller === 'nobody' || caller === 'half signed in') return '401 unauthenticated'
  // Neither process reads the other's sessions.
  if (caller.startsWith('administrator') !== (access.to === 'administrator')) return '401 unauthenticated'
  if (access.to === 'person') return undefined
  if (access.to === 'administrator')
    return caller !== 'administrator' && access.again ? '403 mfa_step_up_required' : undefined
  if (caller === 'former member') return '403 forbidden'
  if (caller === 'member of two who names none') return '400 organization_required'
  const role = roleOf(caller)
  if (!rightsOf[role].includes(access.right)) return '403 forbidden'
  return access.confirmed && caller === 'unconfirmed' ? '403 email_not_verified' : undefined
}

function roleOf(caller: CallerName): 'owner' | 'developer' | 'accountant' {
  if (caller === 'accountant') return caller
  return caller.startsWith('developer') ? 'developer' : 'owner'
}

/** Callers that name the organization of the objects. */
const naming: readonly CallerName[] = ['developer here, owner elsewhere', 'former member']

/** Callers without access to the organization of the objects, but to another one. */
const elsewhere: readonly CallerName[] = ['owner elsewhere', 'token elsewhere']

/** A caller, and the objects of the call. */
type Scene = {
  readonly cookie: string | undefined
  /** A management token. */
  readonly bearer?: string
  readonly keyId: string
  readonly revokedKeyId: string
  readonly requestId: string
  readonly paymentId: string
  readonly differenceId: string
  readonly approvalId: string
  readonly chargeId: string
  readonly sessionId: string
  readonly passkeyId: string
  readonly userId: string
  readonly organizationId: string
  readonly invitationId: string
  /** The model or provider of the call; the usual ones if absent. */
  readonly catalogName?: string
  readonly tokenId: string
  /** The organization that the call names. */
  readonly named?: string
  /** The address of a caller who may be invited. */
  readonly callerEmail?: string
}

/** How an endpoint is called, and what is answered to whomever it is for. */
type Example = {
  readonly answer: string
  /** Where it depends on the caller after all. */
  readonly unless?: Partial<Readonly<Record<CallerName, string>>>
  readonly params?: (
    scene: Scene,
  ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>
  readonly query?: (scene: Scene) => Readonly<Record<string, string>>
  readonly body?: (scene: Scene) => object
  readonly ifMatch?: (scene: Scene) => Promise<string>
}

const model = 'rules/priced'
const aKey = ({ keyId: key_id }: Scene) => ({ key_id })
const aPayment = ({ paymentId: payment_id }: Scene) => ({ payment_id })
const aDifference = ({ differenceId: difference_id }: Scene) => ({ difference_id })
const aModel = ({ catalogName = model }: Scene) => ({ model: encodeURIComponent(catalogName) })
const aProvider = ({ catalogName = 'rules' }: Scene) => ({ provider: catalogName })
const aPrice = { pricingRubPerMillionTokens: { input: '1', output: '2' } }
const aSpec = (provider: string) => ({
  model,
  backends: [{ name: 'main', providerRef: { name: provider }, model: 'm' }],
  ...aPrice,
})
const aProviderSpec = { api: 'OpenAI', baseURL: 'https://127.0.0.1/v1' }
const anOrganization = ({ organizationId: organization_id }: Scene) => ({ organization_id })
const anApproval = ({ approvalId: approval_id }: Scene) => ({ approval_id })
const aCharge = ({ chargeId: charge_id }: Scene) => ({ charge_id })
const aUser = ({ userId: user_id }: Scene) => ({ user_id })
const anInvitation = ({ invitationId: invitation_id }: Scene) => ({ invitation_id })
const reason = () => ({ reason: 'A rule is tried' })
const email = () => ({ email: `${randomUUID()}@example.com` })
const password = 'correct horse battery staple'
const wrongCode = () => ({ code: '000000' })
const day = { from: '2026-11-01', to: '2026-11-02' }
const withTotp = ['owner with TOTP'] as const
const forThose = (names: readonly CallerName[], answer: string) =>
  Object.fromEntries(names.map((name) => [name, answer]))
const needsTotp = { answer: '403 mfa_required', unless: forThose(withTotp, '401 invalid_code') }
const credential = { id: 'none', rawId: 'none', type: 'public-key' }
const unknownPasskey = () => ({
  credential: {
    ...credential,
    response: { clientDataJSON: 'e30', authenticatorData: 'e30', signature: 'e30', userHandle: 'e30' },
  },
})
const createdElsewhere = () => ({
  name: 'made by a rule',
  credential: { ...credential, response: { clientDataJSON: 'e30', attestationObject: 'e30' } },
})
const [document] = shippedTexts

const examples: Readonly<Record<string, Example>> = {
  readOpenApi: { answer: '200' },
  readConfig: { answer: '200' },
  readEvents: { answer: '200' },
  register: {
    answer: '428 proof_of_work_required',
    body: () => ({ ...email(), password, accept_offer: true, accept_pdn: true }),
  },
  verifyEmail: { answer: '422 invalid_token', body: () => ({ token: 'nobody has this one' }) },
  exportAccount: { answer: '200' },
  readEmailChange: { answer: '200' },
  beginEmailChange: {
    answer: '401 invalid_credentials',
    unless: { unconfirmed: '403 email_not_verified' },
    body: () => ({ ...email(), password: 'not it' }),
  },
  endEmailChange: { answer: '404 not_found' },
  confirmEmailChange: { answer: '422 invalid_token', body: () => ({ token: 'nobody has this one' }) },
  cancelEmailChange: { answer: '422 invalid_token', body: () => ({ token: 'nobody has this one' }) },
  cancelTotpReset: { answer: '422 invalid_token', body: () => ({ token: 'nobody has this one' }) },
  resendVerification: { answer: '202', body: email },
  login: { answer: '401 invalid_credentials', body: () => ({ ...email(), password }) },
  loginWithCode: { answer: '401 invalid_code', body: wrongCode },
  logout: { answer: '204' },
  forgotPassword: { answer: '202', body: email },
  resetPassword: { answer: '422 invalid_token', body: () => ({ token: 'nobody has this one', password }) },
  changePassword: {
    answer: '401 invalid_credentials',
    body: () => ({ current_password: 'not it', new_password: password }),
  },
  readMe: { answer: '200' },
  changeMe: { answer: '200', body: () => ({ locale: 'ru' }) },
  listSessions: { answer: '200' },
  endSession: { answer: '204', params: ({ sessionId: session_id }) => ({ session_id }) },
  enrolTotp: {
    answer: '401 invalid_credentials',
    unless: { unconfirmed: '403 email_not_verified', ...forThose(withTotp, '409 conflict') },
    body: () => ({ password: 'not it' }),
  },
  confirmTotp: { answer: '409 conflict', body: wrongCode },
  stepUp: { ...needsTotp, body: wrongCode },
  renewRecoveryCodes: { ...needsTotp, body: wrongCode },
  removeTotp: {
    answer: '403 mfa_required',
    unless: forThose(withTotp, '401 invalid_credentials'),
    body: () => ({ ...wrongCode(), password: 'not it' }),
  },
  readPasskeyChallenge: { answer: '200' },
  loginWithPasskey: { answer: '401 invalid_passkey', body: unknownPasskey },
  listPasskeys: { answer: '200' },
  beginPasskey: {
    answer: '401 invalid_credentials',
    unless: { unconfirmed: '403 email_not_verified', ...forThose(withTotp, '403 mfa_required') },
    body: () => ({ password: 'not it' }),
  },
  addPasskey: { answer: '401 invalid_passkey', body: createdElsewhere },
  removePasskey: {
    answer: '401 invalid_credentials',
    unless: { 'owner elsewhere': '404 not_found' },
    params: ({ passkeyId: passkey_id }) => ({ passkey_id }),
    body: () => ({ password: 'not it' }),
  },
  listConsents: { answer: '200' },
  acceptDocument: { answer: '200', body: () => ({ kind: 'offer', version: String(document?.version) }) },
  listLegalDocuments: { answer: '200' },
  readLegalDocument: {
    answer: '200',
    params: () => ({
      kind: String(document?.kind),
      version: String(document?.version),
      locale: String(document?.locale),
    }),
  },
  readLegalTextByHash: {
    answer: '200',
    params: () => ({ hash: String(document?.sha256) }),
  },
  listMembers: { answer: '200' },
  changeMember: { answer: '200', params: aUser, body: () => ({ role: 'developer' }) },
  removeMember: { answer: '204', params: aUser },
  leaveOrganization: { answer: '204', unless: { 'owner elsewhere': '409 last_owner' } },
  listInvitations: { answer: '200' },
  invite: { answer: '201', body: () => ({ ...email(), role: 'accountant' }) },
  revokeInvitation: { answer: '204', params: anInvitation },
  listTokens: { answer: '200' },
  createToken: {
    answer: '201',
    body: () => ({ name: 'made by a rule', scopes: ['keys'], expires_in_days: 1 }),
  },
  revokeToken: { answer: '204', params: ({ tokenId: token_id }) => ({ token_id }) },
  listReceivedInvitations: { answer: '200' },
  acceptInvitation: {
    answer: '200',
    params: receivedInvitation,
    unless: { unconfirmed: '403 email_not_verified' },
  },
  declineInvitation: {
    answer: '204',
    params: receivedInvitation,
    unless: { unconfirmed: '403 email_not_verified' },
  },
  listPricedModels: { answer: '200' },
  estimateCost: { answer: '200', body: () => ({ model, input_tokens: 1 }) },
  readModelDetails: { answer: '200', query: () => ({ model }) },
  listKeys: {
    answer: '200',
    query: ({ keyId }) => ({
      cursor: Buffer.from(JSON.stringify({ after: keyId })).toString('base64url'),
      q: keyId,
    }),
  },
  readKey: { answer: '200', params: aKey },
  listRevokedKeys: { answer: '200', query: () => ({ q: 'mark' }) },
  readRevokedKey: { answer: '200', params: ({ revokedKeyId }) => ({ key_id: revokedKeyId }) },
  createKey: { answer: '201', body: () => ({ name: 'made by a rule' }) },
  createPlaygroundKey: { answer: '201' },
  changeKey: { answer: '200', params: aKey, body: () => ({ name: 'renamed', rpm: 1 }), ifMatch: keyVersion },
  blockKey: { answer: '200', params: aKey },
  unblockKey: { answer: '200', params: aKey },
  rotateKey: { answer: '200', params: aKey, body: () => ({ grace: '0' }) },
  revokeKey: { answer: '200', params: aKey },
  readEffectiveLimits: { answer: '200', params: aKey },
  listKeyRefusals: { answer: '200', params: aKey },
  listRefusals: { answer: '200' },
  listActivity: { answer: '200' },
  countRejections: { answer: '200' },
  // There is no Redis here: `keys-api.test.ts` asks for rejections of others.
  getRefusal: {
    answer: '404 not_found',
    params: () => ({ request_id: '3f2504e0-4f89-41d3-9a0c-0305e82c3301' }),
  },
  getOverview: { answer: '200' },
  getSpending: { answer: '200', query: ({ keyId: key_id }) => ({ key_id }) },
  setUpAdministrator: {
    answer: '422 invalid_token',
    body: () => ({ token: 'nobody has this one', password }),
  },
  confirmAdministrator: {
    answer: '422 invalid_token',
    body: () => ({ token: 'nobody has this one', ...wrongCode() }),
  },
  logInAdministrator: {
    answer: '401 invalid_credentials',
    body: () => ({ ...email(), ...wrongCode(), password }),
  },
  logOutAdministrator: { answer: '204' },
  readAdministrator: { answer: '200' },
  listAdministratorSessions: { answer: '200' },
  endAdministratorSession: { answer: '204', params: ({ sessionId: session_id }) => ({ session_id }) },
  stepUpAdministrator: { answer: '401 invalid_code', body: wrongCode },
  renewAdministratorRecoveryCodes: { answer: '401 invalid_code', body: wrongCode },
  adminListUsers: { answer: '200' },
  adminListOrganizations: { answer: '200' },
  adminBlockUser: { answer: '200', params: aUser, body: reason },
  adminEndUserSessions: { answer: '200', params: aUser, body: reason },
  adminUnblockUser: { answer: '200', params: aUser, body: reason },
  adminBlockOrganization: { answer: '202', params: anOrganization, body: reason },
  adminUnblockOrganization: { answer: '202', params: anOrganization, body: reason },
  adminBlockKey: { answer: '200', params: aKey, body: reason },
  adminUnblockKey: { answer: '200', params: aKey, body: reason },
  adminAdjustBalance: {
    answer: '201',
    params: ({ organizationId: organization_id }) => ({ organization_id }),
    body: () => ({ ...reason(), amount_rub: '-1.5' }),
  },
  adminExportAuditLog: {
    answer: '200',
    query: ({ organizationId: organization_id }) => ({ organization_id }),
  },
  adminSearch: { answer: '200', body: ({ requestId: text }) => ({ text }) },
  adminReadOrganization: { answer: '200', params: anOrganization },
  adminReadTimeline: { answer: '200', params: anOrganization },
  adminReadBalance: { answer: '200', params: anOrganization },
  adminDeleteUser: {
    answer: '404 not_found',
    params: () => ({ user_id: randomUUID() }),
    body: () => ({ ...reason(), ...email() }),
  },
  adminListTotpResets: { answer: '200' },
  adminRequestTotpReset: { answer: '409 conflict', params: aUser, body: reason },
  adminApproveTotpReset: {
    answer: '404 not_found',
    params: () => ({ reset_id: randomUUID() }),
    body: reason,
  },
  adminDeclineTotpReset: {
    answer: '404 not_found',
    params: () => ({ reset_id: randomUUID() }),
    body: reason,
  },
  adminListEmails: { answer: '200', params: anOrganization },
  adminResendEmail: {
    answer: '404 not_found',
    params: (scene) => ({ ...anOrganization(scene), email_id: randomUUID() }),
    body: reason,
  },
  adminListKeys: { answer: '200', params: anOrganization },
  adminListRefusals: { answer: '200', params: anOrganization },
  adminListRequests: { answer: '200', params: anOrganization },
  adminReadRequest: {
    answer: '200',
    params: (scene) => ({ ...anOrganization(scene), request_id: scene.requestId }),
  },
  adminListLedger: { answer: '200', params: anOrganization },
  createPayment: { answer: '409 consent_outdated', body: () => ({ amount_rub: '100' }) },
  readAutoTopUp: { answer: '200' },
  setAutoTopUp: {
    answer: '503 payments_unavailable',
    body: () => ({ threshold_rub: '500', amount_rub: '1000', daily_max_rub: '3000' }),
  },
  endAutoTopUp: { answer: '204' },
  listPayments: { answer: '200' },
  readPayment: { answer: '200', params: aPayment },
  refreshPayment: { answer: '200', params: aPayment },
  adminListPayments: {
    answer: '200',
    query: ({ organizationId: organization_id }) => ({ organization_id }),
  },
  adminRefreshPayment: { answer: '503 payments_unavailable', params: aPayment },
  adminRefundPayment: { answer: '409 refund_not_possible', params: aPayment, body: reason },
  adminListApprovals: { answer: '200' },
  adminApprove: { answer: '200', params: anApproval, body: reason },
  adminDecline: { answer: '200', params: anApproval, body: reason },
  adminReadDays: { answer: '200' },
  adminReadState: { answer: '200' },
  adminListRejectedCharges: { answer: '200' },
  adminPostRejectedCharge: {
    answer: '409 charge_unreadable',
    params: aCharge,
    body: reason,
  },
  adminWriteOffRejectedCharge: { answer: '200', params: aCharge, body: reason },
  adminListWebhooks: { answer: '200' },
  adminListPaymentDifferences: { answer: '200' },
  adminResolvePaymentDifference: { answer: '200', params: aDifference, body: reason },
  adminReadAuditLog: {
    answer: '200',
    query: ({ organizationId: organization_id }) => ({ organization_id }),
  },
  adminPublishLegalDocument: {
    answer: '422 validation_failed',
    body: () => ({ ...reason(), kind: 'offer', version: '2020-01-01', texts: { ru: 'Оферта', en: 'Offer' } }),
  },
  adminListModels: { answer: '200' },
  adminReadModel: { answer: '200', params: aModel },
  adminReadCatalogState: { answer: '200' },
  adminCreateModel: { answer: '422 validation_failed', body: () => ({ ...reason(), spec: aSpec('none') }) },
  adminUpdateModel: {
    answer: '412 precondition_failed',
    params: aModel,
    body: () => ({ ...reason(), spec: aSpec('rules') }),
    ifMatch: async () => '"another"',
  },
  adminListPrices: { answer: '200', params: aModel },
  adminPreviewPrice: { answer: '200', params: aModel, body: () => ({ spec: aPrice }) },
  adminSetPrice: {
    answer: '412 precondition_failed',
    params: aModel,
    body: () => ({ ...reason(), spec: aPrice }),
    ifMatch: async () => '"another"',
  },
  adminCancelPrice: {
    answer: '404 not_found',
    params: (scene) => ({ ...aModel(scene), price_id: randomUUID() }),
    body: reason,
  },
  adminCreateProvider: {
    answer: '422 validation_failed',
    body: () => ({ ...reason(), name: 'at-loopback', spec: aProviderSpec }),
  },
  adminUpdateProvider: {
    answer: '412 precondition_failed',
    params: aProvider,
    body: () => ({ ...reason(), spec: aProviderSpec }),
    ifMatch: async () => '"another"',
  },
  adminListProviders: { answer: '200' },
  adminReadProvider: { answer: '200', params: aProvider },
  adminListLegalDocuments: { answer: '200' },
  adminListConsents: { answer: '200' },
  adminExportConsents: { answer: '200' },
  getOrganization: { answer: '200' },
  getNotifications: { answer: '200' },
  updateNotifications: { answer: '200', body: () => ({ budgets: true }) },
  setWebhook: { answer: '200', body: () => ({ url: 'https://hooks.example.com/alerts' }) },
  removeWebhook: { answer: '204' },
  linkTelegram: { answer: '404 not_found' }, // no bot works
  unlinkTelegram: { answer: '204' },
  testNotifications: { answer: '200' },
  updateOrganization: {
    answer: '200',
    body: () => ({ display_name: 'Renamed', low_balance_threshold_rub: '5' }),
    ifMatch: organizationVersion,
  },
  getBalance: { answer: '200' },
  listLedger: { answer: '200' },
  exportLedger: { answer: '200' },
  listBonuses: { answer: '200' },
  getUsage: { answer: '200', query: () => day },
  exportUsage: { answer: '200', query: () => day },
  listRequests: { answer: '200', query: ({ keyId: key_id }) => ({ key_id }) },
  exportRequests: { answer: '200', query: ({ keyId: key_id }) => ({ key_id }) },
  getRequest: { answer: '200', params: ({ requestId: request_id }) => ({ request_id }) },
}

/** Its ETag from the database: a caller without access could have guessed it. */
async function keyVersion({ keyId }: Scene): Promise<string> {
  const { rows } = await pool.query('select version from api_keys where id = $1', [keyId])
  return `"${rows[0]?.version}-guessed"`
}

/** An entry that no release could read. */
async function insertRejectedCharge(): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    "insert into charges_rejected (shard, stream_id, entry, error) values (0, $1, '{}', 'unreadable') returning id",
    [randomUUID()],
  )
  return rows[0]?.id ?? ''
}

/** An invitation from another organization to the caller; for callers without an address, one to a stranger. */
async function receivedInvitation({ callerEmail, invitationId }: Scene) {
  if (callerEmail === undefined) return { invitation_id: invitationId }
  const sender = await signedIn(pool)
  return { invitation_id: await insertInvitation(sender, callerEmail) }
}

async function insertInvitation(
  { organizationId, userId }: { readonly organizationId: string; readonly userId: string },
  address: string,
): Promise<string> {
  const id = randomUUID()
  await pool.query(
    `insert into invitations (id, organization_id, email, role, invited_by, expires_at)
     values ($1, $2, $3, 'developer', $4, now() + interval '7 days')`,
    [id, organizationId, address, userId],
  )
  return id
}

/** Only its members may read it: accepted callers ask for their own. */
async function organizationVersion({ cookie, named }: Scene): Promise<string> {
  const { headers } = await app.inject({
    url: '/api/v1/organization',
    headers: { cookie: cookie ?? '', ...(named === undefined ? {} : { 'organization-id': named }) },
  })
  return String(headers.etag ?? '"unknown"')
}

/** A word that is in everything of an organization that has a text. */
type Owned = Omit<Scene, 'cookie'> & { readonly mark: string }

/** An organization that has a row in everything that organizations own, and an owner who is signed in. */
async function filledOrganization(): Promise<Owned> {
  const mark = `mark-${randomBytes(6).toString('hex')}`
  const customer = await createCustomer(pool, { balanceNano: 7_654_321_000_000n })
  const { organizationId, keyId } = customer
  const entry = entryOf(customer, 7n)
  await postBatch(pool, [entry])
  await pool.query('select grant_trial(gen_random_uuid(), $1, uuid_send($1))', [organizationId])
  await pool.query('update api_keys set name = $2 where id = $1', [keyId, mark])
  await pool.query('update organizations set display_name = $2 where id = $1', [organizationId, mark])
  const { userId } = await signedIn(pool, { organizationId })
  const paymentId = randomUUID()
  await pool.query(
    'insert into payments (id, organization_id, user_id, amount, next_call_at) values ($1, $2, $3, 100000000000, null)',
    [paymentId, organizationId, userId],
  )
  const { rows } = await pool.query<{ id: bigint }>(
    `insert into payment_differences (kind, provider_id, payment_id, ours, theirs)
     values ('amount', $1, $2, '100', '101') returning id`,
    [mark, paymentId],
  )
  const { tokenId } = await insertManagementToken(pool, {
    organizationId,
    userId,
    scopes: ['keys'],
    name: mark,
  })
  return {
    organizationId,
    keyId,
    revokedKeyId: await revokedKeyOf(organizationId, mark),
    tokenId,
    requestId: entry.requestId,
    paymentId,
    differenceId: String(rows[0]?.id),
    approvalId: await newApproval(organizationId),
    chargeId: await insertRejectedCharge(),
    userId,
    invitationId: await insertInvitation({ organizationId, userId }, `${mark}@example.com`),
    mark,
    sessionId: await sessionOf(userId),
    passkeyId: await newPasskey(userId),
  }
}

async function revokedKeyOf(organizationId: string, name: string): Promise<string> {
  const id = randomUUID()
  await inTestScope(pool, async (client) => {
    await insertKey(client, { id, organizationId, name, managedBy: 'cabinet' })
    await revokeKey(client, id)
  })
  return id
}

/** A request of another administrator, which waits. */
async function newApproval(organizationId: string): Promise<string> {
  const { administratorId } = await signedInAdministrator(pool)
  const id = randomUUID()
  await pool.query(
    `insert into money_orders (id, kind, organization_id, amount, reason, ordered_by, because, expires_at, state)
     values ($1, 'adjustment', $2, 1, 'a rule is tried', $3, 'amount', now() + interval '1 hour', 'pending')`,
    [id, organizationId, administratorId],
  )
  return id
}

async function newPasskey(userId: string): Promise<string> {
  const id = randomUUID()
  await pool.query(
    `insert into passkeys (id, user_id, name, credential_id, public_key, counter, last_challenge_at)
     values ($1::uuid, $2, 'made by a rule', uuid_send($1::uuid), '', 0, now())`,
    [id, userId],
  )
  return id
}

async function sessionOf(userId: string): Promise<string> {
  const { rows } = await pool.query<{ id: string }>('select id from sessions where user_id = $1', [userId])
  return rows[0]?.id ?? ''
}

/** A caller before the things of an organization: his own one, unless he is the owner of another. */
async function sceneOf(caller: CallerName, of: Owned): Promise<Scene> {
  if (caller === 'nobody') return { ...of, cookie: undefined }
  if (caller.startsWith('administrator')) return { ...of, ...(await administratorOf(caller)) }
  const scopes = scopesOf[caller]
  if (scopes !== undefined) return { ...of, cookie: undefined, bearer: await bearerOf(caller, of, scopes) }
  const hasTotp = withTotp.some((name) => name === caller)
  const { userId, cookie } = await signedIn(pool, {
    memberRole: roleOf(caller),
    isConfirmed: caller !== 'unconfirmed',
    ...(caller === 'owner elsewhere' ? {} : { organizationId: of.organizationId }),
    hasTotp,
  })
  if (caller === 'former member') await pool.query('delete from memberships where user_id = $1', [userId])
  if (caller === 'developer here, owner elsewhere' || caller === 'member of two who names none')
    await joinAnother(userId)
  if (hasTotp) await sealAnySecret(userId)
  if (caller === 'half signed in')
    await pool.query(`update sessions set stage = 'password' where user_id = $1`, [userId])
  const isElsewhere = caller === 'owner elsewhere'
  const sessionId = isElsewhere ? of.sessionId : await sessionOf(userId)
  const passkeyId = isElsewhere ? of.passkeyId : await newPasskey(userId)
  return {
    ...of,
    sessionId,
    passkeyId,
    cookie,
    ...(naming.includes(caller) ? { named: of.organizationId } : {}),
    ...(caller === 'owner elsewhere' ? {} : { callerEmail: `${userId}@example.com` }),
  }
}

async function bearerOf(caller: CallerName, of: Owned, scopes: readonly TokenScope[]): Promise<string> {
  const owner = caller === 'token elsewhere' ? await signedIn(pool) : of
  const state = caller === 'revoked token' ? 'revoked' : caller === 'expired token' ? 'expired' : 'active'
  const { secret } = await insertManagementToken(pool, { ...owner, scopes, state })
  return secret
}

async function joinAnother(userId: string): Promise<void> {
  const { organizationId } = await signedIn(pool)
  await pool.query(`insert into memberships (organization_id, user_id, role) values ($1, $2, 'owner')`, [
    organizationId,
    userId,
  ])
}

async function administratorOf(caller: CallerName): Promise<Pick<Scene, 'cookie' | 'sessionId'>> {
  const mfaAt = caller === 'administrator' ? new Date() : new Date(Date.now() - 3_600_000)
  const { administratorId, cookie } = await signedInAdministrator(pool, { mfaAt })
  const sealed = sealedFor(administratorId, secrets.ADMINISTRATION_SEALING_KEY)
  await pool.query('update administrators set totp_sealed = $2 where id = $1', [administratorId, sealed])
  const { rows } = await pool.query('select id from administrator_sessions where administrator_id = $1', [
    administratorId,
  ])
  return { cookie, sessionId: rows[0]?.id }
}

async function sealAnySecret(userId: string): Promise<void> {
  const sealed = sealedFor(userId, secrets.CABINET_SEALING_KEY)
  await pool.query('update users set totp_sealed = $2 where id = $1', [userId, sealed])
}

function sealedFor(id: string, sealingKey: string): string {
  return sealTotpSecret('JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', id, [Buffer.from(sealingKey, 'base64')])
}

async function ask(
  { operation, method, url, idempotencyKey, ifMatch }: Contract,
  example: Example,
  scene: Scene,
  isAtAdministration = isOfAdministration(operation),
) {
  const params = (await example.params?.(scene)) ?? {}
  const body = example.body?.(scene)
  const version = ifMatch === undefined ? undefined : await example.ifMatch?.(scene)
  const response = await (isAtAdministration ? administration.app : app).inject({
    method,
    url: url.replaceAll(/:([a-z_]+)/g, (_, name) => String(params[name])),
    query: { ...example.query?.(scene) },
    headers: {
      ...(scene.cookie === undefined
        ? {}
        : { cookie: scene.cookie, origin: isAtAdministration ? administrationUrl : appUrl }),
      ...(scene.bearer === undefined ? {} : { authorization: `Bearer ${scene.bearer}` }),
      ...(scene.named === undefined ? {} : { 'organization-id': scene.named }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': randomUUID() }),
      ...(version === undefined ? {} : { 'if-match': version }),
    },
    ...(body === undefined ? {} : { payload: body }),
  })
  const isProblem = response.statusCode >= 400
  const told = isProblem ? `${response.statusCode} ${response.json().code}` : String(response.statusCode)
  return { told, text: response.body }
}

/** The parts of a response that identify an organization. */
function findTraces(of: Owned, text: string): readonly string[] {
  const traces = [
    of.mark,
    of.keyId,
    of.revokedKeyId,
    of.requestId,
    of.paymentId,
    of.organizationId,
    of.invitationId,
    of.tokenId,
  ]
  return traces.filter((trace) => text.includes(trace))
}

beforeAll(async () => {
  await createProvider(pool, { name: 'rules', baseUrl: 'http://127.0.0.1:1' })
  await createModel(pool, model, 'rules', { inputNano: 1n, outputNano: 1n })
})

test('every endpoint of the route table has an example here, and no example is of none', () => {
  expect(Object.keys(examples).toSorted()).toEqual(contracts.map(({ operation }) => operation).toSorted())
})

describe.each(contracts.map((contract) => [contract.operation, contract] as const))(
  '%s',
  (name, contract) => {
    const example = examples[name] ?? { answer: 'no example' }

    function expectedOf(caller: CallerName): string {
      const refusal = refusalOf(contract, caller)
      const isForeign =
        elsewhere.includes(caller) && example.params !== undefined && contract.access.to !== 'anyone'
      return refusal ?? example.unless?.[caller] ?? (isForeign ? '404 not_found' : example.answer)
    }

    /** Calls may change the caller's objects, or note the view, so no other caller in this test uses them. */
    const isNoted = contract.method !== 'GET' || contract.summary.endsWith('; audited')
    const mayChange = isNoted && contract.access.to !== 'anyone'

    test('accepts only the callers of its access, and rejected callers change nothing', async () => {
      const common = await filledOrganization()
      const own = await Promise.all(
        callers.map(async (caller) => {
          const isIn = refusalOf(contract, caller) === undefined && !elsewhere.includes(caller)
          return sceneOf(caller, isIn && mayChange ? await filledOrganization() : common)
        }),
      )
      const before = await rowsOfOrganization(pool, common.organizationId)
      const answers = await Promise.all(own.map((scene) => ask(contract, example, scene)))
      expect(await rowsOfOrganization(pool, common.organizationId)).toEqual(before)
      expect(answers.map(({ told }, index) => [callers[index], told])).toEqual(
        callers.map((caller) => [caller, expectedOf(caller)]),
      )
      for (const [index, caller] of callers.entries())
        if (refusalOf(contract, caller) !== undefined || elsewhere.includes(caller))
          expect([caller, findTraces(common, answers[index]?.text ?? '')]).toEqual([caller, []])
    })
  },
)

const named = contracts.filter(({ params, access }) => params !== undefined && access.to !== 'anyone')

test.each(named.map((contract) => [contract.operation, contract] as const))(
  '%s answers another user’s id, an unknown one and an invalid one alike',
  async (name, contract) => {
    const example = examples[name] ?? { answer: 'no example' }
    const isForAdministrators = contract.access.to === 'administrator'
    const victim = await filledOrganization()
    const scene = await sceneOf(isForAdministrators ? 'administrator' : 'owner elsewhere', victim)
    const ids = (id: string) => ({
      keyId: id,
      requestId: id,
      paymentId: id,
      differenceId: id,
      approvalId: id,
      chargeId: id,
      sessionId: id,
      passkeyId: id,
      userId: id,
      organizationId: id,
      invitationId: id,
      catalogName: id,
      tokenId: id,
    })
    const told = async (of: Scene) => {
      const ifMatch = example.ifMatch === undefined ? {} : { ifMatch: async () => '"1-x"' }
      const { text } = await ask(contract, { ...example, ...ifMatch }, of)
      const { request_id: _, ...body } = JSON.parse(text)
      return body
    }
    const absent = await told({ ...scene, ...ids(randomUUID()) })
    expect(absent.code).toBe('not_found')
    expect(await told({ ...scene, ...ids('none') })).toEqual(absent)
    if (!isForAdministrators) expect(await told(scene)).toEqual(absent)
  },
)

test('only administrators learn that an administration path does not exist', async () => {
  const contract = {
    operation: 'none',
    method: 'POST',
    url: '/api/v1/admin/nothing/here',
    access: { to: 'administrator' },
  } as const
  const owned = await filledOrganization()
  for (const caller of callers) {
    const scene = await sceneOf(caller, owned)
    const { told } = await ask(contract as unknown as Contract, { answer: '' }, scene, true)
    expect([caller, told]).toEqual([caller, refusalOf(contract, caller) ?? '404 not_found'])
  }
})

test('the customers’ process has no administration path, for any caller', async () => {
  const owned = await filledOrganization()
  const ofAdministrators = administration.contracts.filter(({ url }) => url.startsWith('/api/v1/admin/'))
  expect(ofAdministrators.length).toBeGreaterThan(10)
  for (const contract of ofAdministrators)
    for (const caller of ['nobody', 'owner with TOTP', 'administrator'] as const) {
      const scene = await sceneOf(caller, owned)
      const { told } = await ask(contract, examples[contract.operation] ?? { answer: '' }, scene, false)
      expect([contract.operation, caller, told]).toEqual([contract.operation, caller, '404 not_found'])
    }
})
