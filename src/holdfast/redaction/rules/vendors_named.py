"""Keys without a shape of their own, which stand beside the name of their service."""

from __future__ import annotations

from holdfast.redaction.rule import Rule
from holdfast.redaction.rules.vendor_form import UUID, alnum, hexes, url_safe

_SERVICES = """
abbysale abuseipdb accuweather adafruit adobe aerisweather aeroworkflow agora aikido airbrake
airship airtable airvisual akamai alchemy alconost alegra aletheia algolia alibaba alienvault
aliyun allsports alpha_vantage alphavantage amazonmws amplitude anypoint apacta api2cart apideck
apiflash apifonica apify apilayer apimatic apiscience apitemplate appcenter appcues appfollow
appointedd appsynergy apptivo appveyor artifactory artsy asana assembly_ai assemblyai atera
atlassian audd auth0 autodesk autoklose avalara avaza aviationstack axonaut aylien ayrshare azure
bamboohr bannerbear baremetrics baseapi basistheory beamer beebole besttime billomat binance
bintray bitbar bitbucket bitcoinaverage bitfinex bitly bitmex bitrise bittrex blablabus blazemeter
blitapp blocknative blogger blynk bombbomb boostnote borgbase braintree branch_io brandfetch
brave_search brevo browserstack browshot bscscan buddyns bugherd bugsnag buildkite bulbul bulksms
buttercms caflou calendarific calendly calorieninja campayn cannyio capsulecrm captaindata
carboninterface caspio censys centralstationcrm cexio chartmogul chatfule checkly checklyhq
checkmarket checkvist circleci clarifai clearbit clickhelp clickhouse clicksend clickup cliengo
clinchpad clockify clockworksms closecrm cloudant cloudconvert cloudelements cloudflare cloudimage
cloudinary cloudmersive cloudplan cloudsight cloudsmith cloudways cloverly cloze clustdoc codacy
codeclimate codecov codemagic codequiry cohere coinapi coinbase coingecko coinlayer coinlib
coinmarketcap cometchat commercejs companyhub confluence confluent contentful contentstack
conversiontools convertkit coralogix couchbase countrylayer coveralls craftmypdf
crossbrowsertesting crowdin crowdstrike cryptocompare currencycloud currencyfreaks currencylayer
currencyscoop currentsapi customer_io customerguru d7network dailyco dareboost dashscope
databricks datadog datafire datagov datarobot deepai deepgram deepinfra deepl deepseek detectify
detectlanguage dfuse diffbot diggernaut digitalocean discord disqus distribusion dnscheck
dockerhub documo docusign doppler dotmailer dovico dronahq droneci dropbox duffel dwolla dynalist
dynatrace dyspatch eagleeyenetworks easyinsight easypost ecostruxure edamam edenai elastic_cloud
elastic_email elasticemail elasticpath elevenlabs emailoctopus enablex equinix etherscan ethplorer
etsy eventbrite everhour eversign exchangerate exportsdk extractorapi facebook faceplusplus
fakejson fastforex fastly fastspring feedier feedly fetchrss fibery figma filestack finage
financialmodelingprep findl finicity finnhub firebase fireworks_ai fixerio flagsmith flatio
fleetbase flickr flightapi flightstats flowdash flowdock flowflu flutterwave fmfw formbucket
formcraft formio foursquare frameio freshbooks freshdesk fulcrum fullcontact fullstory fusebill
fxmarket geckoboard gengo geoapify geocodify geocodio geoipifi getemail getgeoapi getgist
getresponse getsandbox giphy gitter glassnode glitterly gocanvas gocardless gooddata goshippo
gosquared grafana graphcms graphhopper greynoise groovehq groq gtmetrix guardianapi gumroad gyazo
happyscribe hellosign helpcrunch helpscout hereapi heroku hetzner hiveage holidayapi honeybadger
honeycomb hubspot huggingface humio hybiscus hygraph hypeauditor hypertrack ibm_cloud iconfinder
iexapis iexcloud imagekit imagga imgur impala infura insightly instagram integromat intercom
interseller intrinio invoiceocean ipapi ipgeolocation ipify ipinfo ipinfodb ipquality ipstack
jfrog jira jotform jsonbin jumpcloud jumpseller juro kairosdb kakaotalk kaleyra kanbantool
karmacrm keenio kickbox kiteconnect klaviyo klipfolio knapsackpro kontent kraken kucoin kylas
languagelayer lark_suite larksuite lastfm launchdarkly leadfeeder leankit lemonsqueezy lendflow
lessannoyingcrm lexigram line_messaging linked_in linkedin linkpreview linode liveagent livestorm
loadmill locationiq logdna loggly loginradius logzio lokalise looker loyverse lunchmoney m3o
macaddress madkudu magicbell mailboxlayer mailchimp mailerlite mailgun mailjet mailmodo mailsac
mailtrap mandrill mapbox mapquest marketstack mattermost mavenlink maxmind meaningcloud mediastack
meistertask meraki mesibo message_bird messagebird messari metaapi metrilo mezmo midise
mindmeister mistral mixcloud mixmax mixpanel mockaroo mollie monkeylearn moonclerk moonshot
moosend moralis mrticktock myfreshworks myintervals nasdaqdatalink nethunt netlify neutrinoapi
new_relic newrelic newsapi newscatcher nexmo nftport ngrok nicehash nicereply nordigen noticeable
nozbe numverify nutritionix nylas nytimes oanda ocrspace okta omnisend onbuka onedesk onelogin
onepagecrm onesignal onwater oopspam open_weather openai opencage opendatasoft opengraphr opensea
openuv openvpn openweathermap opsgenie optimizely owlbot packagecloud pagerduty pandascore
paperform papertrail papyrs paralleldots parsehub partnerstack passbase pastebin paydirtapp
paymoapp paymongo paypal paystack pdflayer pdfshift pendo peopledatalabs pepipost photoroom
phraseapp pinata pinecone pipedream pipedrive pivotaltracker pixabay plaid planetscale planview
planyo plivo podio pollsapi poloniex polygon_io portainer positionstack postageapp postbacks
posthog postman postmark powrbot printfection private_ai prodpad prospectcrm prospectio
protocolsio proxycrawl pubnub purestake pushbullet pusher qdrant qualaroo qubole quickbooks
quickmetrics rapid_api rapidapi rawg raygun razorpay reachmail reallysimplesystems rebrandly
recaptcha reddit rentman repairshopr restpack revampcrm ringcentral riotgames ritekit rocketreach
rockset rollbar roninapp route4me rownd rubygems runrunit saladcloud salesblink salescookie
salesflare salesforce samsara satismeter sauce_labs saucelabs scaleway scrapeowl scraper_api
scraperapi scraperbox scrapersite scrapestack scrapfly scrapingant scrapingbee scrapingdog
screenshotapi screenshotlayer scrutinizer securitytrails selectpdf sellfy sendbird sendgrid
sendinblue sendoso sentry serp_api serpapi serper serphouse serpstack sheety sherpadesk shipday
shippo shodan shopee shopify shotstack shutterstock signable signalwire signaturit signupgenius
sigopt simplesat simplybook simplynoted simvoly sirv siteleaf skrapp skybiometry smartsheet
smartystreets smooch smsapi snipcart snyk sonarcloud sonarqube sparkpost speechtextai splunk
spoonacular sportradar sportsmonk spotify square squarespace squareup sslmate stability_ai
stackhawk statuscake statuspage statuspal steam_web stitchdata stockdata storecove stormboard
stormglass storyblok storychief strava streamchat stripo stytch sugester sumo_logic sumologic
supernotes surveyanyplace surveybot surveymonkey surveysparrow survicate swiftype tableau tallyfy
tatumio tavily taxjar teamgate teamviewer teamwork telegram telesign teletype telnyx tencent
terraform testingbot text2data textmagic thinkific thousandeyes ticketmaster tickettailor tiingo
timecamp timezoneapi tmdb tmetric todoist toggl tokeet tomorrowio tomtom tradier transferwise
transifex travelpayouts travis travis_ci travisci trello trimble twelvedata twilio twitch twitter
tyntec typeform typetalk ubidots unifyid unplugg unsplash upcdatabase uplead uploadcare upstash
uptimerobot upwave urlscan userflow userstack vatlayer veevavault vercel verimail veriphone
versioneye viewneo vimeo virustotal visualcrossing voicegain vonage voodoosms vouchery voyageai
vpnapi vultr vyte wakatime walkscore wandb weatherapi weatherbit weatherstack web3storage
webengage webex webflow webscraper webscraping websitepulse wechat wepay whoxy wistia woocommerce
woopra wordsapi worksnaps workstack worldcoinindex worldweather wpengine wrike wunderground yandex
yelp yext yousign youtube zapier zendesk zenkit zenrows zenscrape zenserp zeplin zerobounce
zerotier zhipu zipapi zipbooks zipcodeapi zonkafeedback zoom_us zulip zulipchat
"""

SERVICES = tuple(_SERVICES.split())
"""The names, each long or odd enough to be no other word; `_` is a joint: `new-relic`, `newrelic`.

Words of the language (`box`, `front`, `privacy`) are left to the fields whose names say "key".
"""

_JOINT = r"[ _.-]{0,3}"
_OF_A_KEY = (
    "access|account|admin|api|app|application|auth|bearer|bot|client|consumer|credentials?|data"
    "|dev|developer|ingest|insert|integration|io|ai|key|keys|license|live|login|master|oauth2?|org"
    "|pass|password|pat|personal|priv|private|prod|production|project|pub|public|publish|read"
    "|refresh|rest|sandbox|search|secret|server|service|sid|signing|subscribe|subscription|test"
    "|token|upload|user|v[0-9]|web|webhook|write"
)
_WORDS = (
    rf"(?:{_JOINT}(?:{_OF_A_KEY})){{0,5}}"
    rf"(?:{_JOINT}(?:client|consumer|key|access|app){_JOINT}id)?(?:{_JOINT}(?:key|value))?"
)
_QUOTES = r"[\"'`\\\[({]{0,3}"
_LINK = (
    rf"(?: {{1,2}}|[\"'`\\\])]{{0,3}}\s{{0,4}}(?:[:=]{{1,4}}>?|[?|.&+-]?=|->|\|\||[>,(])\s{{0,8}})"
    rf"{_QUOTES}"
)
_VALUE = (
    r"(?:\d{6,20}[:|%][\w-]{16,100}|[0-9a-f]{8}:[0-9a-f]{8}|s\.[A-Za-z0-9]{24}"
    r"|[a-z0-9]{2,4}\.[\w-]{16,100}\.[\w-]{16,100}"
    r"|[\w+/-][\w+/=-]{11,127})"
)


def anchors_of(service: str) -> tuple[str, ...]:
    """The spellings of a service's name."""
    return tuple(dict.fromkeys(service.replace("_", joint) for joint in ("", "_", "-")))


_NAMES = tuple(dict.fromkeys(name for service in SERVICES for name in anchors_of(service)))

RULES = (
    Rule(
        kind="service-key",
        family="vendor",
        anchors=_NAMES,
        pattern=f"(?:{'|'.join(_NAMES)}){_WORDS}{_LINK}(?P<value>{_VALUE})",
        gate="unnamed",
        ignore_case=True,
        inside_word=True,
        true=(
            ("DATADOG_API_KEY=", hexes(32), "\n"),
            ("new-relic license key: ", hexes(40), " "),
            ("'cohere' : '", alnum(40), "',"),
            ("herokuKey = `", UUID, "`"),
            ("<okta_token>\n  ", "00" + url_safe(40), "\n</okta_token>"),
            ("{amplitude ", hexes(32), "}"),
            ("vault-mapbox=", "pk." + alnum(60) + "." + alnum(22), ""),
        ),
        false=(
            "DATADOG_API_KEY=",
            "datadog_api_key = os.environ['DD_API_KEY']",
            "sentry-trace: " + hexes(32) + "-" + hexes(16) + "-1",
            "BUILDKITE_COMMIT=" + hexes(40),
            "codecov/codecov-action@" + hexes(40),
            "cloudflare: the_worker_is_deployed_from_here",
            "sentry a_long_name_of_a_function_2",
            '"mapbox-gl": "1.13.0"',
            "grafana/grafana:sha256:" + hexes(64),
        ),
    ),
)
