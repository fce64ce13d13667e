"""Twelve rules of a company, each a document of one sentence, in German and in English, with questions."""

from __future__ import annotations

RULES = {
    "de": {
        "urlaub": "Jeder Mitarbeiter hat Anspruch auf 30 Tage Urlaub im Jahr.",
        "reisen": "Reisekosten werden innerhalb von vier Wochen nach Einreichung der Belege erstattet.",
        "passwort": "Passwörter müssen mindestens zwölf Zeichen lang sein und werden alle sechs Monate geändert.",
        "besucher": "Besucher melden sich am Empfang an und tragen einen Ausweis.",
        "homeoffice": "An zwei Tagen in der Woche darf von zu Hause gearbeitet werden.",
        "krankheit": "Wer krank ist, meldet sich vor neun Uhr bei seiner Führungskraft.",
        "probezeit": "Die Probezeit dauert sechs Monate, die Kündigungsfrist beträgt in dieser Zeit zwei Wochen.",
        "geschenke": "Geschenke von Lieferanten dürfen einen Wert von 35 Euro nicht übersteigen.",
        "parken": "Parkplätze in der Tiefgarage werden über das Sekretariat vergeben.",
        "drucker": "Vertrauliche Unterlagen dürfen nur am Drucker im dritten Stock ausgedruckt werden.",
        "ueberstunden": "Überstunden werden durch Freizeit ausgeglichen und nicht ausbezahlt.",
        "rauchen": "Rauchen ist nur auf der Dachterrasse gestattet.",
    },
    "en": {
        "urlaub": "Every employee is entitled to 30 days of vacation a year.",
        "reisen": "Travel expenses are reimbursed within four weeks after the receipts were handed in.",
        "passwort": "Passwords must have at least twelve characters and are changed every six months.",
        "besucher": "Visitors sign in at the reception and wear a badge.",
        "homeoffice": "Working from home is allowed on two days a week.",
        "krankheit": "Employees who are sick tell their manager before nine o'clock.",
        "probezeit": "The probation period takes six months, with a notice period of two weeks.",
        "geschenke": "Gifts from suppliers must not exceed a value of 35 euros.",
        "parken": "Parking spaces in the underground garage are assigned by the front office.",
        "drucker": "Confidential documents may be printed only on the printer on the third floor.",
        "ueberstunden": "Overtime is compensated with time off and is not paid.",
        "rauchen": "Smoking is permitted only on the roof terrace.",
    },
}

QUESTIONS = {
    "de": {
        "urlaub": "Wie viele Tage Urlaub habe ich im Jahr?",
        "reisen": "Wann werden meine Reisekosten erstattet?",
        "passwort": "Wie lang muss mein Passwort sein?",
        "besucher": "Wo müssen sich Besucher anmelden?",
        "homeoffice": "Wie oft darf ich von zu Hause arbeiten?",
        "krankheit": "Bei wem muss ich mich melden, wenn ich krank bin?",
        "probezeit": "Wie lange dauert die Probezeit?",
        "geschenke": "Darf ich ein Geschenk von einem Lieferanten annehmen?",
        "parken": "Wer vergibt die Parkplätze?",
        "drucker": "Wo kann ich vertrauliche Unterlagen drucken?",
        "ueberstunden": "Werden Überstunden ausbezahlt?",
        "rauchen": "Wo darf man rauchen?",
    },
    "en": {
        "urlaub": "How many days of vacation do I have?",
        "reisen": "When are my travel expenses reimbursed?",
        "passwort": "How long must my password be?",
        "besucher": "Where do visitors have to sign in?",
        "homeoffice": "How often may I work from home?",
        "krankheit": "Whom do I tell when I am sick?",
        "probezeit": "How long is the probation period?",
        "geschenke": "May I accept a gift from a supplier?",
        "parken": "Who assigns the parking spaces?",
        "drucker": "Where can I print confidential documents?",
        "ueberstunden": "Is overtime paid?",
        "rauchen": "Where may I smoke?",
    },
}

FOREIGN = {
    "de": [
        "Wer hat die Relativitätstheorie entwickelt?",
        "Welche Temperatur herrscht auf der Venus?",
        "Wie wird Brot gebacken?",
        "Wann wurde der Eiffelturm gebaut?",
        "Welche Spannung liefert eine Batterie?",
        "Wie heißt die Hauptstadt von Australien?",
        "Warum ist der Himmel blau?",
        "Wie viele Planeten umkreisen die Sonne?",
        "Was fressen Pandas?",
        "Welcher Fluss fließt durch London?",
    ],
    "en": [
        "Who developed the theory of relativity?",
        "How hot is it on Venus?",
        "How is bread baked?",
        "When was the Eiffel Tower built?",
        "Which voltage does a battery deliver?",
        "What is the capital of Australia?",
        "Why is the sky blue?",
        "How many planets circle the sun?",
        "What do pandas eat?",
        "Which river flows through London?",
    ],
}
