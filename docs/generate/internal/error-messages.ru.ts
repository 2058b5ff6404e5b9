import type { RefusalCode } from '#core/errors/refusal'

/** When the gateway returns each error, in Russian. The comments of `errorRows` have the same in English. */
export const conditionsInRussian: Readonly<Record<RefusalCode, string>> = {
  missing_api_key: 'Нет заголовка `Authorization: Bearer`.',
  invalid_api_key: 'Ключ искажён, неизвестен, отозван или заменён при ротации.',
  expired_api_key: 'Срок действия ключа истёк.',
  api_key_blocked: 'Ключ заблокирован владельцем, администратором или своим ресурсом ApiKey.',
  insufficient_balance: 'Баланс организации равен нулю или отрицателен.',
  request_exceeds_balance:
    'Максимальная стоимость запроса больше баланса, даже если другие запросы не выполняются.',
  request_exceeds_budget: 'Максимальная стоимость запроса больше дневного бюджета ключа.',
  balance_reserved: 'Нужные запросу деньги зарезервированы выполняющимися запросами. Повторите запрос.',
  budget_reserved:
    'Нужная запросу часть дневного бюджета зарезервирована выполняющимися запросами. Повторите запрос.',
  daily_budget_exceeded: 'Дневной бюджет ключа израсходован; `resets_at` — когда он возобновится.',
  rate_limit_exceeded: 'Достигнут лимит RPM или TPM ключа.',
  request_too_large_for_tpm: 'В запросе может быть больше токенов, чем весь лимит TPM ключа.',
  request_exceeds_max_cost: 'Максимальная стоимость больше значения `x-gateway-max-cost-rub`.',
  request_not_found: 'У организации нет завершённого запроса с таким идентификатором.',
  response_not_found: 'У ключа нет сохранённого ответа с таким идентификатором, или срок его хранения истёк.',
  model_not_found: 'Модели нет в каталоге, или она недоступна этой организации.',
  model_not_allowed: 'Модели нет в списке разрешённых для ключа.',
  wrong_model_type: 'Модель эмбеддингов использована для чата или наоборот.',
  invalid_json: 'Тело запроса — не JSON.',
  invalid_value: 'Поле отсутствует либо имеет неверный тип или значение; `param` называет его.',
  unsupported_parameter:
    'Ни один провайдер модели не поддерживает все параметры. Только с `x-gateway-strict-params`.',
  unsupported_media_type: 'Тип содержимого — не JSON.',
  request_too_large: 'Тело запроса слишком велико.',
  context_length_exceeded: 'Запрос длиннее контекста модели.',
  content_policy_violation: 'Провайдер отклонил запрос из-за своих правил о содержимом.',
  upstream_error: 'Все обращения к провайдерам закончились ошибкой.',
  upstream_overloaded: 'Все провайдеры перегружены или ограничивают частоту запросов.',
  upstream_timeout: 'Истекло время выполнения запроса.',
  service_unavailable: 'Redis недоступен, каталог не загружен или не хватает памяти. Повторите запрос.',
  unknown_url: 'Такого URL нет. В сообщении указан похожий.',
  method_not_allowed: 'URL существует, но не для этого метода.',
  upgrade_required: 'URL не поддерживает WebSocket. Используйте HTTP.',
  malformed_request: 'Запрос нарушает протокол HTTP.',
  request_timeout: 'Запрос не поступил вовремя.',
  headers_too_large: 'Заголовки слишком велики.',
  internal_error: 'Ошибка в шлюзе. Сообщите идентификатор запроса в поддержку.',
}
