# Toutes les pages
skip = Aller au contenu
languages = Langue
sandbox = Bac à sable
sandbox-note = Ceci est un essai. Aucun argent ne circule.
amount-paid = Montant payé
amount-converted = { $amount } au taux de { $rate }
amount-due = Montant à payer
steps = Étapes
step-method = Moyen
step-details = Détails
step-confirm = Confirmer
page-title = { $page } – { $merchant }
secured = Paiement fourni par { $service }
time-left = Temps restant pour payer :
time-days-word = jours
time-warning = Il reste moins d’une minute pour payer.
support = Une question ? Contactez { $merchant } :
cancel-link = Annuler ce paiement
continue = Continuer
change = Modifier
optional = (facultatif)
choose-one = Veuillez choisir
try-again = Réessayer
another-method = Autre moyen de paiement
copy = Copier
copied = Copié
copy-address = Copier l’adresse
copy-amount = Copier le montant

# Choisir
choose-title = Comment souhaitez-vous payer ?
choose-country = Pays d’où vous payez
choose-country-only = Paiement depuis
choose-country-none = Choisissez un pays
choose-country-first = Voir les moyens
choose-country-change = Changer
choose-search = Trouver un moyen de paiement
choose-found = Moyens trouvés :
choose-empty = Il n’est pas possible de payer en ce moment.
choose-empty-text = Aucun des moyens de paiement proposés par { $merchant } ne peut accepter ce paiement actuellement. Réessayez dans quelques minutes.
choose-empty-country = Aucun moyen de paiement n’est disponible pour ce paiement dans ce pays actuellement ({ $country }). Choisissez un autre pays ou réessayez dans quelques minutes.
choose-closed = { $merchant } n’accepte pas de paiements pour le moment. Rien ne peut être payé ici d’ici là : contactez { $merchant }.
choose-unsent = { $method } est injoignable pour le moment.
choose-unsent-text = Le paiement n’a pas pu être envoyé.
choose-unsent-next = Choisissez un autre moyen de paiement, ou réessayez le même dans un instant.
choose-attempts-left = { $left ->
    [one] Vous pouvez essayer encore une fois, avec le même moyen ou un autre.
   *[other] Vous pouvez essayer encore { $left } fois, avec le même moyen ou un autre.
}
kind-mobile-money = Mobile money
kind-card = Carte bancaire
kind-bank-transfer = Virement bancaire
kind-qr = Code QR
kind-ussd = Code à composer
kind-crypto = Cryptomonnaie
kind-wallet = Portefeuille
kind-test = Moyen d’essai

# Détails
details-title = Vos informations
details-wrong = Veuillez corriger ce qui est signalé ci-dessous.
change-method = le moyen de paiement
field-msisdn = Numéro mobile money
field-msisdn-test = Numéro de téléphone d’essai
field-msisdn-hint = Le numéro de votre compte : { $country } (+{ $dial })
field-msisdn-fixed = Ce paiement ne peut être fait que depuis ce numéro.
field-msisdn-known = Laissez ce champ vide pour utiliser { $number }, ou saisissez un autre numéro.
field-first_name = Prénom
field-last_name = Nom
field-email = Adresse e-mail
field-phone = Numéro de téléphone
field-address = Adresse
field-city = Ville
field-state = État ou région
field-country = Pays
field-zip = Code postal
error-required = { $field } : veuillez remplir ce champ.
error-phone = Cela ne ressemble pas à un numéro de téléphone. Vérifiez les chiffres.
error-phone-benin = Les numéros du Bénin ont dix chiffres depuis le 30 novembre 2024. Écrivez 01 devant votre ancien numéro, par exemple 01 97 80 80 80.
error-phone-country = Ce numéro n’est pas de ce pays ({ $country }). Commencez par +{ $dial } ou écrivez-le comme vous le composez sur place.
error-email = Cela ne ressemble pas à une adresse e-mail. Elle a la forme nom@exemple.com.
error-choice = Veuillez choisir dans la liste.
error-format = Le format n’est pas celui attendu. Veuillez vérifier.
error-refused = Le prestataire n’accepte pas cette saisie : { $message }
error-refused-plain = Le prestataire n’accepte pas cette saisie. Veuillez la corriger.
error-long = C’est trop long : { $most } caractères au plus.
test-title = Bac à sable :
test-hint = trois numéros décident de l’issue de l’essai.
test-success = réussit
test-pending = reste en attente
test-failed = échoue

# Confirmer
confirm-title = Vérifiez et confirmez
confirm-amount = Montant
confirm-merchant = Vous payez
confirm-for = Pour
confirm-method = Avec
confirm-number = Numéro
confirm-country = Depuis
confirm-email = E-mail
confirm-pay = Payer { $amount }
confirm-back = Modifier les informations
confirm-back-method = Choisir un autre moyen
next-phone = Vous devrez ensuite confirmer sur votre téléphone.
next-provider = Vous terminerez ensuite sur la page du prestataire de paiement.
next-instructions = Vous verrez ensuite comment payer.
next-test = La passerelle d’essai répond aussitôt. Aucun argent ne circule.

# Attendre
wait-title = Nous attendons votre paiement
wait-text = Le prestataire a reçu votre paiement. Cette page affichera le résultat d’elle-même.
wait-starting-title = Envoi de votre paiement
wait-starting-text = Cela prend quelques secondes. Ne payez pas une seconde fois.
wait-held-title = Nous avons reçu de l’argent pour ce paiement
wait-doubt-title = Nous vérifions auprès du prestataire
wait-doubt-text = Nous ne savons pas encore si votre paiement est passé et posons la question. Ne payez pas une seconde fois.
wait-phone-title = Confirmez sur votre téléphone
wait-phone-auto = Un message de { $method } devrait apparaître sur le { $number }. Saisissez-y votre code secret pour payer.
wait-phone-manual = Ouvrez la demande de paiement de { $method } sur votre téléphone et confirmez-la.
wait-unusable-title = La page du prestataire ne peut pas être ouverte
wait-unusable-text = Ne payez pas une seconde fois : nous vérifions si cette tentative a pris fin.
wait-redirect-title = Continuez chez le prestataire
wait-redirect-text = Vous payez sur la page du prestataire, puis revenez ici.
wait-redirect-link = Continuer vers { $host }
wait-code-title = Saisissez le code
wait-code-text = Le prestataire vous a envoyé un code.
wait-dial-title = Composez ce code
wait-dial-text = Composez-le sur le téléphone avec lequel vous payez, puis suivez le menu.
wait-dial-link = Composer { $code }
wait-transfer-title = Faites ce virement
wait-transfer-text = Envoyez le montant exact avec la référence, sinon la banque ne pourra pas le reconnaître.
wait-qr-title = Scannez pour payer
wait-qr-text = Ouvrez l’application de votre banque et scannez ce code.
wait-crypto-title = Envoyez depuis votre portefeuille
wait-crypto-text = Envoyez exactement ce montant à cette adresse.
wait-late-title = Le délai d’envoi est écoulé
wait-late-text = N’envoyez plus rien. Nous continuons à vérifier si votre paiement est arrivé avant la fin.
wait-crypto-link = Ouvrir dans un portefeuille
time-usual-minute = Cela prend en général moins d’une minute.
time-usual = Cela prend en général environ { $minutes } minutes.
time-longer = Cela prend plus de temps que d’habitude. Votre paiement est toujours en cours : ne payez pas une seconde fois.
time-not-seen = Nous n’avons pas encore vu votre paiement. Si vous l’avez déjà envoyé, patientez et ne l’envoyez pas à nouveau.
time-stuck = Ce moyen de paiement ne permet pas d’annuler une tentative commencée ; vous ne pouvez donc pas encore payer autrement ici. Nous continuons à vérifier. Si rien ne change, contactez { $merchant } et indiquez la référence { $reference }.
wake-title = Pas de message ?
wake-phone = Déverrouillez votre téléphone et vérifiez qu’il a du réseau. La demande peut aussi attendre dans le menu ou l’application de { $method }.
wake-code = Le code peut arriver en retard. Vérifiez que votre téléphone a du réseau et consultez vos messages.
wake-page = Rouvrez la page du prestataire avec le bouton ci-dessus.
out-no-message = Je n’ai reçu aucun message
out-other-way = Payer autrement
out-cancels = Nous demandons d’abord au prestataire d’annuler cette tentative, pour que vous ne puissiez pas payer deux fois.
out-ends = Le prestataire ne peut pas annuler cette tentative ; elle prend fin dans environ { $minutes } min. Nous vérifions alors une dernière fois, puis vous pourrez payer autrement.
unusable-page = La page du prestataire ne peut pas être ouverte ; vous n’y avez donc pas été redirigé.
given-up-title = Nous mettons fin à cette tentative
given-up-cancels = Nous avons demandé au prestataire de l’annuler. Dès que c’est confirmé, vous pourrez payer autrement. Ne confirmez plus l’ancienne demande.
given-up-ends = Il prend fin dans environ { $minutes } min. Nous vérifions alors une dernière fois, puis vous pourrez payer autrement. Ne confirmez plus l’ancienne demande.
calling-off-title = Nous annulons ce paiement
calling-off-cancels = Nous avons demandé au prestataire de l’annuler. Ne payez et ne confirmez plus rien. Tant que le prestataire n’a pas confirmé l’annulation, le paiement peut encore aboutir.
calling-off-ends = Le prestataire ne peut pas annuler cette tentative ; elle prend fin dans environ { $minutes } min. Ne payez et ne confirmez plus rien. D’ici là, le paiement peut encore aboutir ; nous vérifions ensuite une dernière fois.
wait-keep = Vous pouvez garder cette page ouverte ; elle se met à jour d’elle-même.
wait-refresh = Cette page s’actualise toutes les 20 secondes.
wait-refresh-now = Vérifier maintenant
wait-refresh-stop = Ne plus actualiser
wait-refresh-stopped = Cette page ne s’actualise plus automatiquement.
wait-leave = Retourner maintenant chez { $merchant }
wait-leave-text = Votre paiement continue sans cette page.
wait-leave-ending = L’annulation se poursuit sans cette page.
row-amount = Montant
row-paid = Montant payé
row-asked = Montant de la commande
row-rate = Taux de change
row-markup = Marge, comprise dans le taux
row-for = Pour
row-date = Date
row-merchant = Marchand
row-method = Moyen
row-number = Numéro
row-reference = Référence
row-transfer = Montant à virer
row-fee = Frais du prestataire, inclus
row-bank = Banque
row-account = Numéro de compte
row-name = Titulaire du compte
row-until = Valable jusqu’à
crypto-address = Envoyez à cette adresse sur
crypto-amount = Exactement ce montant
crypto-left = Temps restant pour envoyer :
crypto-warning = Il reste moins d’une minute pour envoyer.
crypto-qr-address = Adresse seule
crypto-qr-link = Adresse et montant
crypto-exact = Envoyez uniquement sur le réseau { $chain }. Une autre monnaie, un autre réseau ou un autre montant peut être perdu.
crypto-exchange = Vous envoyez depuis une plateforme d’échange ? Beaucoup retiennent leurs frais sur le montant ou envoient plus tard. Assurez-vous que { $amount } arrivent sur { $chain } avant la fin du délai.
crypto-details = Détails de la monnaie
crypto-contract = Contrat du jeton :
qr-label = Code QR de ce paiement

# Ce qui est certain au sujet de l’argent. Seul money-nothing dit que rien n’a circulé.
money-nothing = Rien n’a été prélevé sur votre compte.
money-part = Une partie est arrivée : { $received } sur { $asked }. Ne payez pas une seconde fois. Contactez { $merchant } en donnant la référence.
money-all = Nous avons reçu { $received }. Ne payez pas une seconde fois. Contactez { $merchant } en donnant la référence.
money-unknown = Il n’est pas encore certain que de l’argent ait été prélevé. Ne payez pas une seconde fois avant que { $merchant } ait vérifié le paiement par sa référence.
row-received = Reçu
result-expired-held = Ce paiement ne peut plus être réglé.

# Résultat
result-success-title = Paiement réussi
result-success-text = Votre paiement à { $merchant } a été reçu. Merci !
result-review-title = Ce paiement est en cours de vérification
case-paid-twice = Nous avons reçu plus d’un paiement pour cette commande. Ne payez pas à nouveau : { $merchant } en est informé et vous rendra le paiement en trop.
case-surplus = Nous avons reçu plus que le montant demandé. Ne payez pas à nouveau : { $merchant } en est informé et vous rendra la différence.
case-contradicted = Après votre paiement, le prestataire a annoncé autre chose à son sujet. Ne payez pas à nouveau : { $merchant } en est informé et va tirer cela au clair.
case-review = Ce paiement est en cours de vérification. Ne payez pas à nouveau : { $merchant } en est informé.
result-failed-title = Le paiement n’a pas abouti
result-cancelled-title = Paiement annulé
result-cancelled-text = Ce paiement a été annulé.
result-expired-title = Le temps pour payer est écoulé
result-expired-text = Demandez un nouveau lien de paiement à { $merchant } si vous souhaitez toujours payer.
result-provider-says = Message du prestataire : { $message }
leave-button = Retour chez { $merchant }
leave-explain = Vous retournerez sur { $host } dans { $seconds } secondes.
leave-stays = Le bouton vous ramène sur { $host }.
leave-stay = Rester sur cette page

# Pourquoi un paiement n’a pas abouti, et que faire ensuite
reason-insufficient_funds = Il n’y a pas assez d’argent sur le compte. Approvisionnez-le ou payez autrement.
reason-payer_declined = Le paiement n’a pas été confirmé sur le téléphone, ou y a été refusé.
reason-payer_timeout = La confirmation n’est pas arrivée à temps. Gardez votre téléphone déverrouillé à portée de main pour réessayer.
reason-payer_busy = Un autre paiement est ouvert sur votre téléphone. Terminez-le ou attendez quelques minutes, puis réessayez.
reason-invalid_account = Ce numéro n’a pas de compte actif pour ce moyen. Vérifiez le numéro ou choisissez un autre moyen.
reason-limit_exceeded = Ce paiement dépasse un plafond de votre compte. Renseignez-vous auprès de votre prestataire ou payez autrement.
reason-amount_out_of_range = Ce moyen n’accepte pas ce montant. Choisissez un autre moyen.
reason-expired = La demande de paiement a expiré avant d’être confirmée.
reason-not_permitted = Votre prestataire n’autorise pas ce paiement. Renseignez-vous auprès de lui ou payez autrement.
reason-merchant_funds = Le compte du marchand ne peut pas recevoir ce paiement actuellement. Veuillez en informer le marchand.
reason-provider_unavailable = Le prestataire n’a pas pu être joint. Réessayez plus tard ou avec un autre moyen.
reason-misconfigured = Ce moyen n’est pas correctement configuré. Veuillez en informer le marchand et choisir un autre moyen.
reason-other = Le prestataire n’a pas accepté le paiement. Choisissez un autre moyen ou renseignez-vous auprès de lui.

# Reçu
receipt-title = Reçu
receipt-note = Gardez cette page comme reçu. { $merchant } a reçu votre paiement.

# Annuler
cancel-title = Annuler ce paiement ?
cancel-text = Vous ne pourrez plus payer { $merchant } avec ce lien.
cancel-yes = Oui, annuler le paiement
cancel-no = Non, continuer à payer

# Avis après une étape impossible
notice-method = Ce moyen ne peut pas accepter ce paiement en ce moment. Veuillez en choisir un autre.
notice-stale = Cette page n’était plus à jour. Veuillez choisir à nouveau.
notice-price = Le taux de change a changé, et le montant avec lui. Veuillez le vérifier.
notice-under-way = Le paiement a déjà commencé ; il ne peut plus être annulé ici.

# Ennuis
missing-title = Ce paiement n’existe pas
missing-text = Ce lien ne mène à aucun paiement. Il a peut-être été tronqué lors de la copie.
missing-advice = Ouvrez à nouveau le lien depuis la boutique ou le message où vous l’avez trouvé, ou demandez-en un nouveau au marchand.
unavailable-title = Impossible d’afficher votre paiement pour l’instant
unavailable-text = Le problème vient de chez nous et rien n’est perdu. Veuillez réessayer dans une minute.
unavailable-advice = Si vous avez déjà confirmé le paiement, ne payez pas à nouveau : il continue sans cette page.
large-title = Le texte envoyé est trop long
large-text = L’envoi est plus grand que ce que cette page accepte, et n’a pas été pris en compte.
large-advice = Revenez en arrière et raccourcissez ce que vous avez écrit.
nowhere-title = Il n’y a pas de page ici
nowhere-text = L’adresse a peut-être été coupée lors de la copie, ou elle n’est plus utilisée.
nowhere-advice = Pour payer, ouvrez à nouveau le lien de paiement depuis la boutique ou le message où vous l’avez trouvé.
front-title = Paiements
front-text = Ce serveur traite des paiements pour des commerçants. Pour payer, ouvrez le lien de paiement que la boutique vous a donné.
front-developers = Pour les développeurs :
front-docs = documentation de l’API
method-title = Cette adresse ne s’ouvre pas ainsi
method-text = Rouvrez la page de paiement avec le bouton.
method-advice = Si le bouton n’aide pas, rouvrez le lien depuis la boutique.
too-many-title = Trop de tentatives
too-many-text = Pour protéger les numéros de téléphone contre les messages non voulus, nous limitons le nombre de demandes de paiement. Nous n’avons pas transmis cette demande à l’opérateur.
too-many-advice = { $minutes ->
    [one] Réessayez dans une minute. Un paiement que vous avez déjà approuvé se poursuit.
   *[other] Réessayez dans { $minutes } minutes. Un paiement que vous avez déjà approuvé se poursuit.
}
closed-title = Les paiements sont fermés pour le moment
closed-text = Ce marchand n’accepte pas de paiements pour le moment : nous n’avons rien lancé.
closed-advice = Si vous avez déjà approuvé un paiement, ne payez pas une seconde fois : nous continuons à le vérifier auprès de l’opérateur. Contactez le marchand.
paused-title = Les paiements sont suspendus pour un instant
paused-text = Nous ne pouvons pas lancer de paiement en ce moment. Rien n’a été prélevé à l’ouverture de cette page.
paused-advice = Veuillez réessayer dans quelques minutes. Si vous avez déjà approuvé ce paiement, ne payez pas une seconde fois : nous le vérifions auprès de l’opérateur.
wait-code-away-title = Transmission de votre code
wait-code-away-text = Le prestataire le vérifie. Cela prend quelques secondes.
code-send = Envoyer le code
code-letters = Mon code contient des lettres
code-hint = { $length } caractères
code-wrong = Ce code n’a pas été accepté. Vérifiez-le et saisissez-le à nouveau.
code-lost = Le code n’est peut-être pas arrivé. Si rien ne change ici, saisissez-le à nouveau.
code-empty = Saisissez le code que le prestataire vous a envoyé.
code-length = Le code comporte { $length } caractères.
code-used-up = Toutes les tentatives pour le code sont épuisées. Nous attendons le dernier mot du prestataire.
code-leave = Sans le code, le paiement ne peut pas continuer.
