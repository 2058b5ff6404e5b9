import type { Locale } from './access.ts'

/** An error of a call, as a value. The RFC 9457 response is built from it. */
export type Problem = {
  readonly code: ProblemCode
  /** The invalid fields, and why each is invalid. */
  readonly errors?: readonly FieldError[]
  /** Whole seconds after which a retry makes sense. */
  readonly retryAfterS?: number
  /** Only for `proof_of_work_required`: the amount of work, in the units of `ProofsOfWork`. */
  readonly work?: number
  /** Extra response members, such as the cluster that manages a key. */
  readonly facts?: Readonly<Record<string, string | number>>
}

export type FieldError = {
  /** Separated by dots: `allowed_models.0`. */
  readonly path: string
  /** For programs. */
  readonly code: string
  /** For users, in the language of the response. */
  readonly message: string
}

type Messages = { readonly status: number } & Readonly<
  Record<Locale, readonly [title: string, detail: string]>
>

/** Every code, with its status and its message to users. */
export const problems = {
  malformed_request: {
    status: 400,
    en: ['Malformed request', 'The request is not valid HTTP, or its body is not valid JSON.'],
    ru: ['Неверный запрос', 'Запрос нарушает протокол HTTP, или его тело не является JSON.'],
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
  organization_required: {
    status: 400,
    en: [
      'Organization required',
      'You are a member of several organizations. Send the ID of one of them in the header Organization-Id.',
    ],
    ru: [
      'Укажите организацию',
      'Вы состоите в нескольких организациях. Передайте идентификатор одной из них в заголовке Organization-Id.',
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
  invalid_passkey: {
    status: 401,
    en: [
      'Passkey not accepted',
      'The passkey is unknown or was removed, or its challenge has expired or was already used. Try again, or use your password.',
    ],
    ru: [
      'Ключ доступа не принят',
      'Ключ доступа неизвестен или удалён, либо его запрос истёк или уже использован. Попробуйте ещё раз или введите пароль.',
    ],
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
      'The request came from another site, or has neither an Origin nor a Sec-Fetch-Site header. Send it from the cabinet itself.',
    ],
    ru: [
      'Запрос с другого сайта',
      'Запрос пришёл с другого сайта или без заголовков Origin и Sec-Fetch-Site. Отправьте его со страницы кабинета.',
    ],
  },
  invalid_management_token: {
    status: 401,
    en: [
      'Management token not valid',
      'The token is unknown, was revoked or has expired. Send a valid one: "Authorization: Bearer mt-gateway-…". Owners create tokens on the page "Team".',
    ],
    ru: [
      'Токен управления недействителен',
      'Токен неизвестен, отозван или истёк. Передайте действующий: «Authorization: Bearer mt-gateway-…». Токены создаёт владелец на странице «Команда».',
    ],
  },
  token_scope_required: {
    status: 403,
    en: [
      'Token without the scope',
      'The management token does not have the scope in "required_scope". Create a token with this scope.',
    ],
    ru: [
      'У токена нет нужной области',
      'У токена управления нет области из "required_scope". Создайте токен с этой областью.',
    ],
  },
  not_for_tokens: {
    status: 403,
    en: ['Not for management tokens', 'No management token may do this. Sign in to the cabinet instead.'],
    ru: ['Недоступно для токенов', 'Токен управления не даёт на это права. Войдите в кабинет.'],
  },
  other_organization: {
    status: 403,
    en: [
      'Another organization',
      'The call names another organization than the one of the management token. Leave out the header Organization-Id.',
    ],
    ru: [
      'Другая организация',
      'В запросе указана не та организация, которой принадлежит токен управления. Уберите заголовок Organization-Id.',
    ],
  },
  organization_blocked: {
    status: 403,
    en: ['Organization blocked', 'An administrator has blocked the organization. Contact support.'],
    ru: ['Организация заблокирована', 'Администратор заблокировал организацию. Обратитесь в поддержку.'],
  },
  not_own_card: {
    status: 403,
    en: [
      'Card of another user',
      'Only the user who saved the card can turn automatic top-ups on or change them. You can end them, and save your own card.',
    ],
    ru: [
      'Карту сохранил другой пользователь',
      'Включать и менять автопополнение может только тот, кто сохранил карту. Вы можете отключить его и сохранить свою карту.',
    ],
  },
  mfa_required: {
    status: 403,
    en: ['Second factor required', 'Set up two-factor authentication, sign in with a code, and try again.'],
    ru: ['Нужен второй фактор', 'Включите двухфакторную аутентификацию, войдите с кодом и повторите запрос.'],
  },
  mfa_step_up_required: {
    status: 403,
    en: [
      'Code required again',
      'You last entered a code more than 5 minutes ago. Enter a new code from your second factor.',
    ],
    ru: [
      'Введите код ещё раз',
      'С последнего ввода кода прошло больше 5 минут. Введите новый код второго фактора.',
    ],
  },
  another_administrator_required: {
    status: 403,
    en: [
      'Another administrator required',
      'You cannot approve your own request, or one for an organization that you belong to.',
    ],
    ru: [
      'Нужен другой администратор',
      'Нельзя одобрить свой запрос или запрос для организации, в которой вы состоите.',
    ],
  },
  email_not_verified: {
    status: 403,
    en: ['Address not confirmed', 'Confirm your email address with the link that we sent to it.'],
    ru: ['Адрес не подтверждён', 'Подтвердите адрес электронной почты по ссылке из письма.'],
  },
  not_found: {
    status: 404,
    en: ['Not found', "Resource not found, or you don't have access to it."],
    ru: ['Не найдено', 'Ресурс не найден, или у вас нет к нему доступа.'],
  },
  request_not_settled: {
    status: 404,
    en: [
      'Not settled yet',
      'This request has no receipt yet. If it is still running, its receipt appears when it ends. Lists of models, requests to a wrong address and requests without a valid API key have no receipt.',
    ],
    ru: [
      'Запрос ещё не учтён',
      'Квитанции этого запроса пока нет. Если запрос ещё выполняется, она появится, когда он завершится. У списков моделей, запросов по неверному адресу и запросов без действующего ключа API квитанций не бывает.',
    ],
  },
  request_untraced: {
    status: 404,
    en: [
      'No receipt and no rejection',
      'Your organization has no receipt with this ID, and it is not among its last 1,000 rejections. Lists of models, requests to a wrong address and requests without a valid API key have no receipt.',
    ],
    ru: [
      'Нет ни квитанции, ни отказа',
      'У вашей организации нет квитанции с этим номером, и среди последних 1000 отказов его тоже нет. У списков моделей, запросов по неверному адресу и запросов без действующего ключа API квитанций не бывает.',
    ],
  },
  request_too_old: {
    status: 404,
    en: [
      'No receipt, and older than 7 days',
      'Your organization has no receipt with this ID. If the request was rejected, it is no longer listed: rejections are kept for 7 days.',
    ],
    ru: [
      'Квитанции нет, запрос старше 7 дней',
      'У вашей организации нет квитанции с этим номером. Если запрос был отклонён, сведений о нём уже нет: отказы хранятся 7 дней.',
    ],
  },
  method_not_allowed: {
    status: 405,
    en: ['Method not allowed', 'This URL does not support the method of the request.'],
    ru: ['Метод не поддерживается', 'Этот адрес не поддерживает метод запроса.'],
  },
  conflict: {
    status: 409,
    en: ['Conflict', 'The current state of the resource does not allow this.'],
    ru: ['Конфликт', 'Текущее состояние ресурса не позволяет это сделать.'],
  },
  managed_by_kubernetes: {
    status: 409,
    en: [
      'Managed by Kubernetes',
      'This key is an ApiKey resource in a Kubernetes cluster. Change the resource there. In the cabinet, you can only block and unblock it.',
    ],
    ru: [
      'Управляется из Kubernetes',
      'Ключом управляет ресурс ApiKey в кластере Kubernetes: измените его там. В кабинете ключ можно только заблокировать и разблокировать.',
    ],
  },
  managed_by_cluster: {
    status: 409,
    en: [
      'Managed by a cluster',
      'A resource in a Kubernetes cluster defines this. Change that resource with kubectl.',
    ],
    ru: [
      'Управляется из кластера',
      'Это определяет ресурс в кластере Kubernetes. Измените его там, командой kubectl.',
    ],
  },
  price_too_late: {
    status: 409,
    en: [
      'Too late',
      'The price comes into force within seconds, or already has. Set another price that applies now.',
    ],
    ru: [
      'Слишком поздно',
      'Цена вступит в силу через несколько секунд или уже вступила. Задайте другую цену, которая действует сразу.',
    ],
  },
  last_owner: {
    status: 409,
    en: ['Last owner', 'An organization needs at least one owner. Make another member an owner first.'],
    ru: [
      'Последний владелец',
      'В организации должен быть хотя бы один владелец. Сначала сделайте владельцем другого участника.',
    ],
  },
  account_has_balance: {
    status: 409,
    en: [
      'Balance first',
      'An organization would be left without members, but with money or an unfinished payment. Refund its payments or adjust its balance to 0, or let another member own it, then try again.',
    ],
    ru: [
      'Сначала баланс',
      'Организация осталась бы без участников, но с деньгами или незавершённым платежом. Верните платежи, обнулите баланс корректировкой или передайте организацию другому участнику и повторите.',
    ],
  },
  too_many_members: {
    status: 409,
    en: [
      'Too many members',
      'The organization has reached its limit of members. Remove a member, then try again.',
    ],
    ru: [
      'Слишком много участников',
      'В организации уже максимальное число участников. Исключите одного из них и повторите.',
    ],
  },
  too_many_invitations: {
    status: 409,
    en: [
      'Too many invitations',
      'The organization has reached its limit of pending invitations, or of invitations in one day. Revoke one, or try again tomorrow.',
    ],
    ru: [
      'Слишком много приглашений',
      'У организации слишком много открытых приглашений, или за сутки их отправлено слишком много. Отзовите одно из них или повторите завтра.',
    ],
  },
  too_many_organizations: {
    status: 409,
    en: [
      'Too many organizations',
      'You have reached the limit of organizations. Leave one of them, then try again.',
    ],
    ru: [
      'Слишком много организаций',
      'Вы состоите в максимальном числе организаций. Выйдите из одной из них и повторите.',
    ],
  },
  invitation_not_valid: {
    status: 409,
    en: [
      'Invitation not valid',
      'The invitation was already used, was revoked or has expired. Ask an owner of the organization for a new one.',
    ],
    ru: [
      'Приглашение недействительно',
      'Приглашение уже использовано, отозвано или истекло. Попросите владельца организации прислать новое.',
    ],
  },
  too_many_open_payments: {
    status: 409,
    en: [
      'Too many open payments',
      'The organization has reached its limit of unpaid payments. Pay one of them, or wait until one expires.',
    ],
    ru: [
      'Слишком много неоплаченных платежей',
      'У организации слишком много неоплаченных платежей. Оплатите один из них или подождите, пока его срок истечёт.',
    ],
  },
  too_many_passkeys: {
    status: 409,
    en: ['Too many passkeys', 'You have as many passkeys as an account may have. Remove one first.'],
    ru: [
      'Слишком много ключей доступа',
      'У аккаунта уже наибольшее число ключей доступа. Сначала удалите один из них.',
    ],
  },
  too_many_keys: {
    status: 409,
    en: ['Too many keys', 'The organization has reached its limit of keys. Revoke a key, then try again.'],
    ru: [
      'Слишком много ключей',
      'У организации уже максимальное число ключей. Отзовите один из них и повторите.',
    ],
  },
  key_name_taken: {
    status: 409,
    en: [
      'Another key has this name',
      'Another key of the organization has this name. `suggestion` in the response is a free one.',
    ],
    ru: [
      'Ключ с таким названием уже есть',
      'Другой ключ организации уже называется так. Свободное название — в поле `suggestion` ответа.',
    ],
  },
  too_many_own_keys: {
    status: 409,
    en: [
      'Your limit of keys is reached',
      'An owner of the organization has limited how many keys you may create. Revoke one of your keys, or ask an owner to raise the limit.',
    ],
    ru: [
      'Ваш лимит ключей исчерпан',
      'Владелец организации ограничил число ключей, которые вы можете создать. Отзовите один из своих или попросите владельца поднять лимит.',
    ],
  },
  too_many_tokens: {
    status: 409,
    en: [
      'Too many tokens',
      'The organization has reached its limit of management tokens. Revoke one, then try again.',
    ],
    ru: [
      'Слишком много токенов',
      'Достигнут лимит токенов управления в организации. Отзовите один из них и повторите запрос.',
    ],
  },
  too_many_secrets: {
    status: 409,
    en: [
      'Too many secrets',
      'This key has reached its limit of replaced secrets in their grace period. Wait until one expires, or rotate with a grace period of 0.',
    ],
    ru: [
      'Слишком много секретов',
      'У ключа слишком много прежних секретов, которые ещё работают. Подождите, пока срок одного из них истечёт, или при замене отключите прежний сразу.',
    ],
  },
  consent_outdated: {
    status: 409,
    en: ['Offer has changed', 'Accept the current version of the offer, then try again.'],
    ru: ['Оферта изменилась', 'Примите действующую редакцию оферты и повторите запрос.'],
  },
  already_decided: {
    status: 409,
    en: ['Already decided', 'An administrator decided before, or the request has expired. Read it again.'],
    ru: [
      'Решение уже принято',
      'Администратор уже принял решение, или запрос просрочен. Прочитайте его снова.',
    ],
  },
  charge_rejected_again: {
    status: 409,
    en: [
      'Rejected again',
      'The ledger rejects the charge again; the list shows why. Remove the cause and repeat, or write the charge off.',
    ],
    ru: [
      'Снова отклонено',
      'Списание снова не провелось, причина указана в списке. Устраните её и повторите или спишите сумму в убыток.',
    ],
  },
  charge_unreadable: {
    status: 409,
    en: [
      'Charge cannot be read',
      'This entry is not a charge that can be posted. Adjust the balance if needed, and write the entry off.',
    ],
    ru: [
      'Списание не читается',
      'Эту запись нельзя провести. Если нужно, измените баланс клиента, а запись спишите в убыток.',
    ],
  },
  refund_not_possible: {
    status: 409,
    en: ['Refund not possible', 'The payment was not paid, or the refund exceeds its remaining amount.'],
    ru: ['Возврат невозможен', 'Платёж не оплачен, или сумма возврата больше остатка платежа.'],
  },
  email_still_waiting: {
    status: 409,
    en: [
      'Email still waiting',
      'The email has not been sent yet, and will be. Look at its last error, and wait.',
    ],
    ru: [
      'Письмо ещё не отправлено',
      'Письмо ждёт отправки и будет отправлено. Посмотрите его последнюю ошибку и подождите.',
    ],
  },
  email_outdated: {
    status: 409,
    en: [
      'Email outdated',
      'What the email is about has ended: the address is confirmed, the invitation is over, or the recipient is blocked or no longer an owner.',
    ],
    ru: [
      'Письмо устарело',
      'Повод письма исчез: адрес подтверждён, приглашение закончилось, получатель заблокирован или больше не владелец.',
    ],
  },
  email_not_repeatable: {
    status: 409,
    en: [
      'Email cannot be repeated',
      'The email reported something of its time, and its content was deleted after sending. Write to the customer instead.',
    ],
    ru: [
      'Письмо нельзя повторить',
      'Письмо сообщало о событии своего времени, а его содержание удалено после отправки. Напишите клиенту сами.',
    ],
  },
  precondition_failed: {
    status: 412,
    en: [
      'Resource changed',
      'The resource has changed since you read it. Read it again, then repeat the change.',
    ],
    ru: [
      'Уже изменено',
      'Ресурс изменился после того, как вы его прочитали. Прочитайте его снова и повторите изменение.',
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
    en: ['Invalid input', 'Some fields are invalid. Correct the fields listed in "errors".'],
    ru: ['Неверные данные', 'Некоторые поля заполнены неверно. Исправьте поля, перечисленные в «errors».'],
  },
  consent_required: {
    status: 422,
    en: ['Consent required', 'Accept both the offer and the processing of personal data.'],
    ru: ['Нужно согласие', 'Примите оферту и дайте согласие на обработку персональных данных.'],
  },
  idempotency_mismatch: {
    status: 422,
    en: [
      'Idempotency key already used',
      'This Idempotency-Key was sent with another request. Use a new one for each new request.',
    ],
    ru: [
      'Ключ идемпотентности уже использован',
      'Этот Idempotency-Key уже был передан с другим запросом. Для каждого нового запроса нужен новый ключ.',
    ],
  },
  invalid_token: {
    status: 422,
    en: ['Link not valid', 'The link has expired or was already used. Request a new one.'],
    ru: ['Ссылка недействительна', 'Ссылка истекла или уже использована. Запросите новую.'],
  },
  precondition_required: {
    status: 428,
    en: ['If-Match required', 'Send the header If-Match with the ETag of the resource that you read.'],
    ru: ['Нужен If-Match', 'Передайте заголовок If-Match с ETag прочитанного ресурса.'],
  },
  proof_of_work_required: {
    status: 428,
    en: [
      'Proof of work required',
      'We are receiving many requests. Solve "challenge" (ALTCHA, version 2) and repeat the request with the header Proof-Of-Work. If many sign-ins to your account have failed, resetting your password is faster.',
    ],
    ru: [
      'Нужно доказательство работы',
      'Сейчас приходит много запросов. Решите «challenge» (ALTCHA, версия 2) и повторите запрос с заголовком Proof-Of-Work. После многих неудачных попыток входа в учётную запись быстрее сбросить пароль.',
    ],
  },
  rate_limited: {
    status: 429,
    en: ['Too many requests', 'Wait for the number of seconds in the header Retry-After, then try again.'],
    ru: [
      'Слишком много запросов',
      'Подождите столько секунд, сколько указано в заголовке Retry-After, и повторите запрос.',
    ],
  },
  too_many_emails: {
    status: 429,
    en: [
      'Too many emails',
      'This address got such an email within a minute, or four emails within an hour. Try again later.',
    ],
    ru: [
      'Слишком много писем',
      'На этот адрес такое письмо уже отправлено за последнюю минуту, или за час отправлено четыре письма. Повторите позже.',
    ],
  },
  too_many_exports: {
    status: 429,
    en: [
      'Too many exports',
      'You already have two exports running. Wait until one of them ends, then try again.',
    ],
    ru: [
      'Слишком много выгрузок',
      'У вас уже идут две выгрузки. Дождитесь, пока одна из них закончится, и повторите.',
    ],
  },
  request_timeout: {
    status: 408,
    en: ['Request timed out', 'The request did not arrive in time. Try again.'],
    ru: ['Время ожидания запроса истекло', 'Запрос не пришёл целиком вовремя. Повторите его.'],
  },
  headers_too_large: {
    status: 431,
    en: ['Headers too large', 'The request headers are too large. Remove some of them or make them shorter.'],
    ru: [
      'Слишком большие заголовки',
      'Заголовки запроса слишком велики. Уберите или сократите часть из них.',
    ],
  },
  internal: {
    status: 500,
    en: [
      'Internal error',
      'The request failed because of an error on our side. Contact support and include the request ID.',
    ],
    ru: [
      'Внутренняя ошибка',
      'Запрос не выполнен из-за ошибки на нашей стороне. Напишите в поддержку и укажите номер запроса.',
    ],
  },
  payments_unavailable: {
    status: 503,
    en: [
      'Payments unavailable',
      'Payments are not configured, or the payment provider does not respond. Try again later.',
    ],
    ru: ['Оплата недоступна', 'Оплата не настроена, или платёжная система не отвечает. Повторите позже.'],
  },
  older_requests_unavailable: {
    status: 503,
    en: [
      'Older requests unavailable',
      'Older requests are stored in an archive, which does not respond. Choose a later period, or try again later.',
    ],
    ru: [
      'Старые запросы недоступны',
      'Старые запросы хранятся в архиве, а он не отвечает. Выберите более поздний период или повторите позже.',
    ],
  },
  service_unavailable: {
    status: 503,
    en: ['Temporarily unavailable', 'The service is temporarily unavailable. Try again in a moment.'],
    ru: ['Временно недоступно', 'Сервис временно недоступен. Повторите чуть позже.'],
  },
} as const satisfies Record<string, Messages>

/** Programs distinguish problems by this code. */
export type ProblemCode = keyof typeof problems

/** One response for malformed IDs, unknown IDs and resources of other users, so that it reveals nothing. */
export const notFound = { problem: { code: 'not_found' } } as const satisfies { readonly problem: Problem }

export function statusOf(code: ProblemCode): number {
  return problems[code].status
}

/** The RFC 9457 body in the given language. Pure. */
export function problemBody(
  problem: Problem,
  locale: Locale,
  { requestId, docUrl }: { readonly requestId: string; readonly docUrl: string | undefined },
): Record<string, unknown> {
  const { code, errors, facts } = problem
  const { status, [locale]: message } = problems[code]
  const [title, detail] = message
  return {
    type: `urn:model-gateway:problem:${code}`,
    title,
    status,
    detail,
    code,
    request_id: requestId,
    ...(docUrl === undefined ? {} : { doc_url: docUrl }),
    ...(errors === undefined ? {} : { errors }),
    ...facts,
  }
}
