import type { Locale } from './access.ts'

/** What went wrong with a call, as a value; RFC 9457 is made of it. */
export type Problem = {
  readonly code: ProblemCode
  /** Which fields are wrong, and why. */
  readonly errors?: readonly FieldError[]
  /** Whole seconds after which a retry makes sense. */
  readonly retryAfterS?: number
  /** Of `proof_of_work_required`: how much, in the units of `ProofsOfWork`. */
  readonly work?: number
  /** Members of its own, such as the cluster that manages a key. */
  readonly facts?: Readonly<Record<string, string | number>>
}

export type FieldError = {
  /** With dots: `allowed_models.0`. */
  readonly path: string
  /** For programs. */
  readonly code: string
  /** For people, in the language of the answer. */
  readonly message: string
}

type Words = { readonly status: number } & Readonly<Record<Locale, readonly [title: string, detail: string]>>

/** Every code, with its status and what people are told. */
const problems = {
  malformed_request: {
    status: 400,
    en: ['Malformed request', 'The request is not valid HTTP, or its body is not valid JSON.'],
    ru: ['Неверный запрос', 'Запрос не соответствует HTTP, или его тело — не JSON.'],
  },
  idempotency_key_required: {
    status: 400,
    en: [
      'Idempotency key required',
      'Send the header Idempotency-Key with 1 to 255 printable ASCII characters, a new one for each new request.',
    ],
    ru: [
      'Нужен ключ идемпотентности',
      'Передайте заголовок Idempotency-Key: от 1 до 255 печатных символов ASCII, новый для каждого нового запроса.',
    ],
  },
  unauthenticated: {
    status: 401,
    en: ['Not signed in', 'Sign in, then try again.'],
    ru: ['Вход не выполнен', 'Войдите и повторите запрос.'],
  },
  invalid_credentials: {
    status: 401,
    en: ['Sign-in failed', 'Email address or password is wrong.'],
    ru: ['Не удалось войти', 'Неверный адрес электронной почты или пароль.'],
  },
  invalid_code: {
    status: 401,
    en: ['Wrong code', 'The code is wrong, has expired or was already used. Enter the next one.'],
    ru: ['Неверный код', 'Код неверен, истёк или уже использован. Введите следующий.'],
  },
  forbidden: {
    status: 403,
    en: ['Not allowed', 'Your role does not allow this.'],
    ru: ['Нет доступа', 'Ваша роль не позволяет это сделать.'],
  },
  cross_site_request: {
    status: 403,
    en: [
      'Cross-site request',
      'The request came from another site, or does not say where it came from. Send it from the cabinet itself.',
    ],
    ru: [
      'Запрос с другого сайта',
      'Запрос пришёл с другого сайта или не говорит, откуда он. Отправьте его из самого кабинета.',
    ],
  },
  mfa_required: {
    status: 403,
    en: ['Second factor required', 'Set up two-factor authentication, sign in with a code, and try again.'],
    ru: ['Нужен второй фактор', 'Включите двухфакторную аутентификацию, войдите с кодом и повторите запрос.'],
  },
  mfa_step_up_required: {
    status: 403,
    en: ['Code required again', 'Enter a code of your second factor: the last one is older than 5 minutes.'],
    ru: ['Введите код ещё раз', 'Введите код второго фактора: с последнего прошло больше 5 минут.'],
  },
  email_not_verified: {
    status: 403,
    en: ['Address not confirmed', 'Confirm your email address with the link that was sent to it.'],
    ru: ['Адрес не подтверждён', 'Подтвердите адрес электронной почты по ссылке из письма.'],
  },
  not_found: {
    status: 404,
    en: ['Not found', 'There is nothing here, or it is not yours.'],
    ru: ['Не найдено', 'Здесь ничего нет, или это не ваше.'],
  },
  method_not_allowed: {
    status: 405,
    en: ['Method not allowed', 'This address exists, but not with this method.'],
    ru: ['Метод не поддерживается', 'Такой адрес есть, но не с этим методом.'],
  },
  conflict: {
    status: 409,
    en: ['Conflict', 'The current state does not allow this.'],
    ru: ['Конфликт', 'Текущее состояние не позволяет это сделать.'],
  },
  managed_by_kubernetes: {
    status: 409,
    en: [
      'Managed by Kubernetes',
      'This key is an ApiKey resource of a cluster. Change the resource there; here it can only be blocked and unblocked.',
    ],
    ru: [
      'Управляется из Kubernetes',
      'Этот ключ — ресурс ApiKey в кластере. Измените ресурс там; здесь его можно только блокировать и разблокировать.',
    ],
  },
  too_many_open_payments: {
    status: 409,
    en: [
      'Too many open payments',
      'The organization has as many unpaid payments as it may have. Pay one of them, or wait until it expires.',
    ],
    ru: [
      'Слишком много неоплаченных платежей',
      'У организации уже наибольшее число неоплаченных платежей. Оплатите один из них или подождите, пока он истечёт.',
    ],
  },
  too_many_keys: {
    status: 409,
    en: ['Too many keys', 'The organization has as many keys as it may have. Revoke one first.'],
    ru: ['Слишком много ключей', 'У организации уже наибольшее число ключей. Сначала отзовите один из них.'],
  },
  too_many_secrets: {
    status: 409,
    en: [
      'Too many secrets',
      'This key has as many replaced secrets in their grace period as it may have. Wait for one to end, or rotate with grace 0.',
    ],
    ru: [
      'Слишком много секретов',
      'У этого ключа уже наибольшее число заменённых секретов, срок которых ещё не истёк. Подождите или замените секрет с grace 0.',
    ],
  },
  consent_outdated: {
    status: 409,
    en: ['Offer has changed', 'Accept the current version of the offer, then try again.'],
    ru: ['Оферта изменилась', 'Примите действующую версию оферты и повторите запрос.'],
  },
  refund_not_possible: {
    status: 409,
    en: ['Refund not possible', 'The payment was not paid, or less is left of it than should be refunded.'],
    ru: ['Возврат невозможен', 'Платёж не оплачен, или от него осталось меньше, чем нужно вернуть.'],
  },
  precondition_failed: {
    status: 412,
    en: [
      'Changed meanwhile',
      'Somebody has changed this since you read it. Read it again, then repeat the change.',
    ],
    ru: [
      'Уже изменено',
      'Это изменили после того, как вы это прочитали. Прочитайте снова и повторите изменение.',
    ],
  },
  request_too_large: {
    status: 413,
    en: ['Request too large', 'The body is larger than 64 KiB.'],
    ru: ['Слишком большой запрос', 'Тело запроса больше 64 КиБ.'],
  },
  unsupported_media_type: {
    status: 415,
    en: ['Unsupported media type', 'Send the body as application/json.'],
    ru: ['Неподдерживаемый тип', 'Передайте тело как application/json.'],
  },
  validation_failed: {
    status: 422,
    en: ['Invalid input', 'Some fields are wrong; see "errors".'],
    ru: ['Неверные данные', 'Некоторые поля заполнены неверно, см. «errors».'],
  },
  consent_required: {
    status: 422,
    en: ['Consent required', 'Both the offer and the processing of personal data must be accepted.'],
    ru: ['Нужно согласие', 'Нужно принять и оферту, и согласие на обработку персональных данных.'],
  },
  idempotency_mismatch: {
    status: 422,
    en: [
      'Idempotency key already used',
      'This Idempotency-Key was sent with another request. Use a new one for each new request.',
    ],
    ru: [
      'Ключ идемпотентности уже использован',
      'Этот Idempotency-Key уже был передан с другим запросом. Берите новый для каждого нового запроса.',
    ],
  },
  invalid_token: {
    status: 422,
    en: ['Link not valid', 'The link has expired or was already used. Ask for a new one.'],
    ru: ['Ссылка недействительна', 'Ссылка истекла или уже использована. Запросите новую.'],
  },
  precondition_required: {
    status: 428,
    en: ['If-Match required', 'Send the header If-Match with the ETag of what you have read.'],
    ru: ['Нужен If-Match', 'Передайте заголовок If-Match со значением ETag того, что вы прочитали.'],
  },
  proof_of_work_required: {
    status: 428,
    en: [
      'Proof of work required',
      'Many requests are arriving. Solve "challenge" (ALTCHA, version 2) and repeat the request with the header Proof-Of-Work. After many failed sign-ins to one account, resetting its password is faster.',
    ],
    ru: [
      'Нужно доказательство работы',
      'Сейчас приходит много запросов. Решите «challenge» (ALTCHA, версия 2) и повторите запрос с заголовком Proof-Of-Work. После многих неудачных входов в один аккаунт быстрее сбросить пароль.',
    ],
  },
  rate_limited: {
    status: 429,
    en: ['Too many requests', 'Wait as long as Retry-After says, then try again.'],
    ru: ['Слишком много запросов', 'Подождите, сколько указано в Retry-After, и повторите.'],
  },
  request_timeout: {
    status: 408,
    en: ['Request timed out', 'The request did not arrive in time.'],
    ru: ['Время ожидания запроса истекло', 'Запрос не пришёл целиком вовремя.'],
  },
  headers_too_large: {
    status: 431,
    en: ['Headers too large', 'The headers of the request are too large.'],
    ru: ['Слишком большие заголовки', 'Заголовки запроса слишком велики.'],
  },
  internal: {
    status: 500,
    en: ['Internal error', 'Something went wrong on our side. Contact support with the request id.'],
    ru: ['Внутренняя ошибка', 'Что-то пошло не так у нас. Напишите в поддержку и укажите номер запроса.'],
  },
  payments_unavailable: {
    status: 503,
    en: [
      'Payments unavailable',
      'Payments are not set up here, or their provider does not answer. Try again later.',
    ],
    ru: [
      'Оплата недоступна',
      'Оплата здесь не настроена, или платёжная система не отвечает. Повторите позже.',
    ],
  },
  service_unavailable: {
    status: 503,
    en: ['Temporarily unavailable', 'The service is temporarily unavailable. Try again in a moment.'],
    ru: ['Временно недоступно', 'Сервис временно недоступен. Повторите чуть позже.'],
  },
} as const satisfies Record<string, Words>

/** What a program reads to tell one problem from another. */
export type ProblemCode = keyof typeof problems

/** What is malformed, what nobody has and what is somebody else's: one answer for all. */
export const notFound = { problem: { code: 'not_found' } } as const satisfies { readonly problem: Problem }

export function statusOf(code: ProblemCode): number {
  return problems[code].status
}

/** The body of RFC 9457, in a language. Pure. */
export function problemBody(problem: Problem, locale: Locale, requestId: string): Record<string, unknown> {
  const { code, errors, facts } = problem
  const { status, [locale]: words } = problems[code]
  const [title, detail] = words
  return {
    type: `urn:model-gateway:problem:${code}`,
    ...{ title, status, detail, code, request_id: requestId },
    ...(errors === undefined ? {} : { errors }),
    ...facts,
  }
}
