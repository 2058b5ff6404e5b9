import { plural } from './plural.ts'
import { roundWait } from './wait.ts'

const waitForms = {
  second: { one: 'секунду', few: 'секунды', many: 'секунд' },
  minute: { one: 'минуту', few: 'минуты', many: 'минут' },
  hour: { one: 'час', few: 'часа', many: 'часов' },
} as const

export const ru = {
  showPassword: 'Показать',
  hidePassword: 'Скрыть',
  copy: 'Копировать',
  copied: 'Скопировано',
  notCopied: 'Браузер не разрешил копировать: выделите текст и скопируйте его сами.',
  copyRequestId: 'Копировать номер запроса',
  copyCode: 'Копировать код',
  codeLanguage: 'Язык примера',
  requestId: 'Номер запроса:',
  filters: (setCount: number) => (setCount === 0 ? 'Фильтры' : `Фильтры: ${setCount}`),
  retry: 'Повторить',
  close: 'Закрыть',
  cancel: 'Отмена',
  more: 'Показать ещё',
  loading: 'Загружается…',
  formFailed: 'Не получилось отправить',
  downloadFailed: 'Не получилось скачать файл',
  readFailed: 'Не получилось загрузить',
  unreachable: 'Нет связи с сервером',
  unreachableDetail: 'Проверьте подключение к интернету. Как только связь появится, всё обновится само.',
  unavailable: 'Сервис ненадолго недоступен',
  unavailableDetail: 'Мы уже восстанавливаем работу. Страница обновится сама.',
  forbidden: 'У вас нет доступа к этому разделу',
  forbiddenDetail: 'Доступ может дать владелец организации.',
  notFound: 'Такого здесь нет',
  notFoundDetail: 'Возможно, это удалили или ссылка неверна.',
  retryAfter: (seconds: number) => {
    const { count, unit } = roundWait(seconds)
    return `Повторите через ${plural('ru', count, waitForms[unit])}.`
  },
  showExactly: '— показать точно',
  exactly: (sum: string) => `Точно: ${sum}`,
}
