"""Turkish. Much is said by endings, which stand here with the stems that are used most."""

from __future__ import annotations

from holdfast.facts.dialogue.vocabulary import Vocabulary

TURKISH = Vocabulary(
    language="tr",
    forbids=(
        "asla|her zaman|daima|hiçbir zaman|hiçbir şekilde|hiçbir koşulda|kesinlikle|mutlaka|"
        "zorunlu|zorunda|zorundasın|yasak|yasaktır|kullanma|kullanmayın|kullanmayınız|"
        "kullanmamalı|kullanılmamalı|yapma|yapmayın|yapmamalı|yapılmamalı|etme|etmeyin|etmemeli|"
        "değiştirme|değiştirmeyin|değiştirilmemeli|silme|silmeyin|silinmemeli|ekleme|eklemeyin|"
        "dokunma|dokunmayın|yazma|yazmayın|olmamalı|olmasın|olmamalıdır|olmalı|olmalıdır|gerekir|"
        "gerekiyor|gerekli|gerek yok|şart|unutma|unutmayın|istemiyorum"
    ),
    limits=(
        "sadece|yalnızca|yalnız|ancak|yerine|en fazla|en çok|en az|fazla olmasın|maksimum|"
        "minimum|azami|asgari|kadar|tercih|tercihen|tercih ederim|tercih et|kaçın|kaçının|dikkat|"
        "dikkat et|emin ol|emin olun|olmadan|olmaksızın|hariç|dışında|sürece|koru|koruyun|sakla|"
        "bırak|bırakın|önemli|tam olarak|hiç|hiçbir|artık|sınır|varsayılan|değil"
    ),
    hints="lazım|istiyorum|isterim|istiyoruz|kullan|kullanın|kullanalım|meli|malı|yok|her|atla",
    idle="bilmiyorum|emin değilim|hatırlamıyorum|sorun değil|neden olmasın|değil mi",
    shared="minimum|her|kim|ne|yok",
    asks=(
        "ne|nedir|neden|niçin|niye|nasıl|nerede|nereye|hangi|kim|kaç|ne zaman|var mı|mümkün mü|"
        "yapabilir misin|yapar mısın|misin|mısın|musun"
    ),
    decides=(
        "kullanacağım|kullandım|karar verdim|karar verildi|karar|seçtim|yerine|öneriyorum|önerim|"
        "tercih ettim|bilerek|değiştirdim"
    ),
    finds=(
        "sebebi|nedeni|sorun şu|sorun|hatanın|kök neden|ortaya çıktı|anlaşıldı|çözüm|"
        "kaynaklanıyor|buldum|desteklenmiyor|mevcut değil|eksik"
    ),
    leans="gerekiyor|olmalı|döndürüyor|çalışıyor|çalışmıyor|sadece|değil",
    reasons="çünkü|bu yüzden|bu nedenle|dolayı|için|sayesinde|aksi halde|yoksa",
    stops="ve|bir|bu|için|ile|de|da|ne|çok|ama|gibi|var|mi|mı|olarak|daha|şu|ben|sen|lütfen",
)
