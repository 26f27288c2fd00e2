"""A small phrasebook in five languages, for a first look at translation."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from annotated_doc import Doc

from regard.datasets.data import Split
from regard.datasets.pairs import Pair, Pairs

Language = Literal["en", "de", "fr", "it", "ko"]
ORDER: tuple[Language, ...] = ("en", "de", "fr", "it", "ko")

# English: German, French, Italian, Korean. No phrase stands twice in any language.
PHRASES = {
    "Good morning.": ("Guten Morgen.", "Bonjour.", "Buongiorno.", "좋은 아침입니다."),
    "Good evening.": ("Guten Abend.", "Bonsoir.", "Buonasera.", "좋은 저녁입니다."),
    "good evening": ("guten abend", "bonsoir", "buonasera", "좋은 저녁입니다"),
    "Good night.": ("Gute Nacht.", "Bonne nuit.", "Buonanotte.", "안녕히 주무세요."),
    "Goodbye.": ("Auf Wiedersehen.", "Au revoir.", "Arrivederci.", "안녕히 가세요."),
    "See you tomorrow.": ("Bis morgen.", "À demain.", "A domani.", "내일 봐요."),
    "Welcome!": ("Herzlich willkommen!", "Bienvenue !", "Benvenuti!", "환영합니다!"),
    "Thank you very much.": ("Vielen Dank.", "Merci beaucoup.", "Grazie mille.", "정말 감사합니다."),
    "You're welcome.": ("Gern geschehen.", "De rien.", "Prego.", "천만에요."),
    "Excuse me.": ("Entschuldigung.", "Excusez-moi.", "Mi scusi.", "실례합니다."),
    "I'm sorry.": ("Es tut mir leid.", "Je suis désolé.", "Mi dispiace.", "죄송합니다."),
    "How are you?": ("Wie geht es Ihnen?", "Comment allez-vous ?", "Come sta?", "어떻게 지내세요?"),
    "I'm fine.": ("Mir geht es gut.", "Je vais bien.", "Sto bene.", "저는 잘 지내요."),
    "What is your name?": (
        "Wie heißen Sie?",
        "Comment vous appelez-vous ?",
        "Come si chiama?",
        "성함이 어떻게 되세요?",
    ),
    "My name is Anna.": ("Ich heiße Anna.", "Je m'appelle Anna.", "Mi chiamo Anna.", "제 이름은 안나입니다."),
    "Nice to meet you.": (
        "Es freut mich, Sie kennenzulernen.",
        "Enchanté.",
        "Piacere di conoscerla.",
        "만나서 반갑습니다.",
    ),
    "Where are you from?": ("Woher kommen Sie?", "D'où venez-vous ?", "Di dov'è?", "어디에서 오셨어요?"),
    "I'm from Germany.": (
        "Ich komme aus Deutschland.",
        "Je viens d'Allemagne.",
        "Vengo dalla Germania.",
        "독일에서 왔어요.",
    ),
    "I'm from Korea.": ("Ich komme aus Korea.", "Je viens de Corée.", "Vengo dalla Corea.", "한국에서 왔어요."),
    "I'm from Italy.": ("Ich komme aus Italien.", "Je viens d'Italie.", "Vengo dall'Italia.", "이탈리아에서 왔어요."),
    "I live in Germany.": (
        "Ich wohne in Deutschland.",
        "J'habite en Allemagne.",
        "Abito in Germania.",
        "독일에 살아요.",
    ),
    "I live in Italy.": ("Ich wohne in Italien.", "J'habite en Italie.", "Abito in Italia.", "이탈리아에 살아요."),
    "I live in Korea.": ("Ich wohne in Korea.", "J'habite en Corée.", "Abito in Corea.", "한국에 살아요."),
    "Do you speak English?": ("Sprechen Sie Englisch?", "Parlez-vous anglais ?", "Parla inglese?", "영어 하세요?"),
    "Do you speak German?": ("Sprechen Sie Deutsch?", "Parlez-vous allemand ?", "Parla tedesco?", "독일어 하세요?"),
    "Do you speak Italian?": (
        "Sprechen Sie Italienisch?",
        "Parlez-vous italien ?",
        "Parla italiano?",
        "이탈리아어 하세요?",
    ),
    "I speak some English.": (
        "Ich spreche etwas Englisch.",
        "Je parle un peu anglais.",
        "Parlo un po' d'inglese.",
        "영어를 조금 해요.",
    ),
    "I speak some Italian.": (
        "Ich spreche etwas Italienisch.",
        "Je parle un peu italien.",
        "Parlo un po' d'italiano.",
        "이탈리아어를 조금 해요.",
    ),
    "I speak some German.": (
        "Ich spreche etwas Deutsch.",
        "Je parle un peu allemand.",
        "Parlo un po' di tedesco.",
        "독일어를 조금 해요.",
    ),
    "I don't understand.": ("Ich verstehe nicht.", "Je ne comprends pas.", "Non capisco.", "이해가 안 돼요."),
    "I don't know.": ("Ich weiß es nicht.", "Je ne sais pas.", "Non lo so.", "모르겠어요."),
    "That is true.": ("Das stimmt.", "C'est vrai.", "È vero.", "맞아요."),
    "Where is the station?": ("Wo ist der Bahnhof?", "Où est la gare ?", "Dov'è la stazione?", "역이 어디예요?"),
    "Where is the hotel?": ("Wo ist das Hotel?", "Où est l'hôtel ?", "Dov'è l'albergo?", "호텔이 어디예요?"),
    "The station is near.": ("Der Bahnhof ist nah.", "La gare est proche.", "La stazione è vicina.", "역은 가까워요."),
    "The station is far.": ("Der Bahnhof ist weit weg.", "La gare est loin.", "La stazione è lontana.", "역은 멀어요."),
    "The hotel is near.": ("Das Hotel ist nah.", "L'hôtel est proche.", "L'albergo è vicino.", "호텔은 가까워요."),
    "The hotel is far.": ("Das Hotel ist weit weg.", "L'hôtel est loin.", "L'albergo è lontano.", "호텔은 멀어요."),
    "When is the train coming?": (
        "Wann kommt der Zug?",
        "Quand arrive le train ?",
        "Quando arriva il treno?",
        "기차는 언제 와요?",
    ),
    "When is the bus coming?": (
        "Wann kommt der Bus?",
        "Quand arrive le bus ?",
        "Quando arriva l'autobus?",
        "버스는 언제 와요?",
    ),
    "The bus is coming.": ("Der Bus kommt.", "Le bus arrive.", "L'autobus sta arrivando.", "버스가 와요."),
    "The train is coming.": ("Der Zug kommt.", "Le train arrive.", "Il treno sta arrivando.", "기차가 와요."),
    "What time is it?": ("Wie spät ist es?", "Quelle heure est-il ?", "Che ore sono?", "지금 몇 시예요?"),
    "It is three o'clock.": ("Es ist drei Uhr.", "Il est trois heures.", "Sono le tre.", "세 시예요."),
    "How much does it cost?": ("Wie viel kostet das?", "Combien ça coûte ?", "Quanto costa?", "얼마예요?"),
    "That is too expensive.": ("Das ist zu teuer.", "C'est trop cher.", "È troppo caro.", "너무 비싸요."),
    "A coffee, please.": (
        "Einen Kaffee, bitte.",
        "Un café, s'il vous plaît.",
        "Un caffè, per favore.",
        "커피 한 잔 주세요.",
    ),
    "A beer, please.": (
        "Ein Bier, bitte.",
        "Une bière, s'il vous plaît.",
        "Una birra, per favore.",
        "맥주 한 잔 주세요.",
    ),
    "The bill, please.": (
        "Die Rechnung, bitte.",
        "L'addition, s'il vous plaît.",
        "Il conto, per favore.",
        "계산서 주세요.",
    ),
    "It tastes very good.": ("Es schmeckt sehr gut.", "C'est très bon.", "È molto buono.", "아주 맛있어요."),
    "I'm hungry.": ("Ich habe Hunger.", "J'ai faim.", "Ho fame.", "배고파요."),
    "I'm thirsty.": ("Ich habe Durst.", "J'ai soif.", "Ho sete.", "목말라요."),
    "I'm tired.": ("Ich bin müde.", "Je suis fatigué.", "Sono stanco.", "피곤해요."),
    "I need help.": ("Ich brauche Hilfe.", "J'ai besoin d'aide.", "Ho bisogno di aiuto.", "도움이 필요해요."),
    "I need a doctor.": (
        "Ich brauche einen Arzt.",
        "J'ai besoin d'un médecin.",
        "Ho bisogno di un medico.",
        "의사가 필요해요.",
    ),
    "Can you help me?": ("Können Sie mir helfen?", "Pouvez-vous m'aider ?", "Può aiutarmi?", "도와주실 수 있나요?"),
    "The weather is nice today.": (
        "Heute ist schönes Wetter.",
        "Il fait beau aujourd'hui.",
        "Oggi fa bel tempo.",
        "오늘은 날씨가 좋아요.",
    ),
    "It is cold today.": ("Heute ist es kalt.", "Il fait froid aujourd'hui.", "Oggi fa freddo.", "오늘은 추워요."),
    "It is raining.": ("Es regnet.", "Il pleut.", "Piove.", "비가 와요."),
    "I like music.": ("Ich mag Musik.", "J'aime la musique.", "Mi piace la musica.", "음악을 좋아해요."),
    "I like this book.": ("Ich mag dieses Buch.", "J'aime ce livre.", "Mi piace questo libro.", "이 책을 좋아해요."),
    "I love you.": ("Ich liebe dich.", "Je t'aime.", "Ti amo.", "사랑해요."),
    "Happy birthday!": ("Alles Gute zum Geburtstag!", "Joyeux anniversaire !", "Buon compleanno!", "생일 축하해요!"),
    "Have a good trip!": ("Gute Reise!", "Bon voyage !", "Buon viaggio!", "즐거운 여행 되세요!"),
    "Enjoy your meal!": ("Guten Appetit!", "Bon appétit !", "Buon appetito!", "맛있게 드세요!"),
}

# Never in `train`, but their English words are.
HELD_OUT: dict[Split, tuple[str, ...]] = {
    "valid": ("I'm from Italy.", "I speak some German.", "The station is far.", "When is the bus coming?"),
    "test": ("I live in Korea.", "Do you speak Italian?", "The hotel is near.", "The train is coming."),
}


class Phrases(Pairs):
    """A phrasebook of everyday sentences in German, English, French, Italian and Korean.

    Too small to learn a language from, large enough to see a model learn by heart: `train` has all
    but eight phrases, and those eight (`valid`, `test`) say known words in new company.
    """

    licence = "Apache-2.0, as Regard itself"

    def __init__(
        self,
        *,
        source: Annotated[Language, Doc("Language to translate from.")] = "de",
        target: Annotated[Language, Doc("Language to translate into, another than the source.")] = "en",
    ) -> None:
        if source == target:
            raise ValueError(f"target: {target!r} is the source already; choose another language")
        self.source, self.target = source, target
        self._sides = ORDER.index(source), ORDER.index(target)

    def read(self, split: Split) -> Iterator[Pair]:
        held = {phrase for phrases in HELD_OUT.values() for phrase in phrases}
        chosen = HELD_OUT[split] if split != "train" else [phrase for phrase in PHRASES if phrase not in held]
        for phrase in chosen:
            row = (phrase, *PHRASES[phrase])
            yield row[self._sides[0]], row[self._sides[1]]

    def identity(self) -> list[Any]:
        return [self.source, self.target, list(PHRASES.items()), HELD_OUT]
